// The recording functions behind struct sonde_agent (backend.h says what each does).
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "sonde/backend.h"

namespace sonde::agent {

void range_push(uint32_t domain, uint32_t category, const char* text);
int range_pop(uint32_t domain);
void range_at(uint32_t domain, uint32_t category, const char* text, uint64_t begin, uint64_t end);
sonde_call call_begin(uint32_t function, int kind);
void call_end(const sonde_call* call, int64_t result, const uint64_t* words, size_t count);
void call_at(uint32_t function, uint64_t begin, uint64_t end, int64_t result, const uint64_t* words,
             size_t count);
uint64_t range_start(uint32_t domain, uint32_t category, const char* text);
void range_stop(uint64_t id);
void mark(uint32_t domain, uint32_t category, const char* text);
void counter(uint32_t name, double value);
void metadata(const char* key, const char* value);
void name_thread(uint32_t tid, const char* name);
void diagnostic(int severity, const char* source, const char* text);
void dropped(const char* source, uint64_t count);
void op(const sonde_op* op);
void copy_request(const sonde_copy_request* request);
void clock_snapshot(uint32_t clock, uint64_t value, uint64_t before, uint64_t after);
uint32_t intern(const char* text, size_t length);

// op_counters.cpp
void op_counter(const sonde_op_counter* counter);

// samples.cpp
uint32_t sample_hz();
int sample_blocked();
int sample(const sonde_sample* sample);
int blocked(const sonde_stack* stack, uint32_t tid, uint64_t wall_ns);
int launch_stack(const sonde_stack* stack, uint64_t correlation);
int take_launch_stacks(void (*take)(uint64_t correlation));
uint32_t define_module(const sonde_module* module);
uint32_t define_code(const sonde_code* code);

}  // namespace sonde::agent
