/* Counts what does not hold in a program that is traced. */
#pragma once

#include <stdio.h>

static int g_errors;

static void expect(int ok, const char* file, int line) {
  if (ok) return;
  fprintf(stderr, "%s:%d: unexpected result\n", file, line);
  ++g_errors;
}
#define EXPECT(condition) expect(condition, __FILE__, __LINE__)
