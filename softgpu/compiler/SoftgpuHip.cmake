# softgpu_add_hip_program(NAME SOURCE... [SHARED] [ARCHS gfx90a...] [OPTIONS ...] [LIBRARIES ...])
#
# Builds a HIP program, or with SHARED a shared library, whose kernels softgpu can compute. NAME is
# a target; its file is the target's property SOFTGPU_FILE. SOFTGPU_HIPCC names softgpu-hipcc if it
# is not in PATH.
function(softgpu_add_hip_program name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "SHARED" "" "ARCHS;OPTIONS;LIBRARIES")
  if(NOT SOFTGPU_HIPCC)
    find_program(SOFTGPU_HIPCC softgpu-hipcc REQUIRED)
  endif()
  if(NOT arg_ARCHS)
    set(arg_ARCHS gfx90a)
  endif()
  set(file ${CMAKE_CURRENT_BINARY_DIR}/hip/${name})  # a target and its file cannot share a path
  set(mode "")
  if(arg_SHARED)
    set(file ${CMAKE_CURRENT_BINARY_DIR}/hip/lib${name}.so)
    set(mode -shared -fPIC)
  endif()
  file(MAKE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/hip)
  list(TRANSFORM arg_ARCHS PREPEND --offload-arch=)
  set(sources "")
  foreach(source IN LISTS arg_UNPARSED_ARGUMENTS)
    cmake_path(ABSOLUTE_PATH source)
    list(APPEND sources ${source})
  endforeach()
  add_custom_command(
    OUTPUT ${file}
    COMMAND ${SOFTGPU_HIPCC} -std=c++17 -O2 ${mode} ${arg_ARCHS} ${arg_OPTIONS} ${sources}
            -o ${file} ${arg_LIBRARIES}
    DEPENDS ${sources} ${SOFTGPU_HIPCC} ${SOFTGPU_HIPCC_PARTS}
    COMMENT "HIP program ${name}"
    VERBATIM)
  add_custom_target(${name} ALL DEPENDS ${file})
  set_target_properties(${name} PROPERTIES SOFTGPU_FILE ${file})
endfunction()
