#include "isa/lanes.h"

namespace softgpu::isa::SOFTGPU_ISA_LEVEL {

void add_all(Table& table);
void add_all(Table& table) {
  add_scalar(table);
  add_scalar_memory(table);
  add_control(table);
  add_integer(table);
  add_integer_three(table);
  add_float(table);
  add_half(table);
  add_convert(table);
  add_divide(table);
  add_compare(table);
  add_lane(table);
  add_packed(table);
  add_dot(table);
  add_matrix(table);
  add_lds(table);
  add_lds_atomic(table);
  add_flat(table);
  add_flat_atomic(table);
  add_buffer(table);
  add_buffer_format(table);
  add_lds_rare(table);
  add_media(table);
}

}  // namespace softgpu::isa::SOFTGPU_ISA_LEVEL
