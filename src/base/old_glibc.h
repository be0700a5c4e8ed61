// In front of every source of what is loaded into traced programs (cmake/sonde.cmake): functions
// that newer versions of glibc have moved from libdl and libpthread to libc are asked for as they
// were before, so that the library runs in a program with glibc 2.28. The old names are there in
// all later versions; the two libraries, empty by now, are among what each library needs. And the
// functions that read numbers are those of before C23, which takes 0b1 for one: glibc 2.38 and later
// have the two, and give GNU's C++ the new ones, whose names older ones do not know.
//
// tests/support/check_libraries.py finds what is missing here. A function whose old form is called
// otherwise (stat, fstat) is not used at all.
#pragma once

#ifndef _GNU_SOURCE
#define _GNU_SOURCE  // before the first header: what a source in C says itself comes too late here
#endif
#include <features.h>

#undef __GLIBC_USE_C2X_STRTOL  // glibc 2.38 and 2.39
#define __GLIBC_USE_C2X_STRTOL 0
#undef __GLIBC_USE_C23_STRTOL  // as later versions call it
#define __GLIBC_USE_C23_STRTOL 0

#if defined(__x86_64__) && !defined(__ASSEMBLER__)

#define SONDE_AS_IN(version, name) __asm__(".symver " #name "," #name "@GLIBC_" version);

SONDE_AS_IN("2.2.5", dladdr)
SONDE_AS_IN("2.3.3", dladdr1)
SONDE_AS_IN("2.2.5", dlerror)
SONDE_AS_IN("2.2.5", dlopen)
SONDE_AS_IN("2.2.5", dlsym)
SONDE_AS_IN("2.2.5", pthread_attr_getstacksize)
SONDE_AS_IN("2.2.5", pthread_attr_setstacksize)
SONDE_AS_IN("2.18", pthread_getattr_default_np)
SONDE_AS_IN("2.2.5", pthread_key_create)
SONDE_AS_IN("2.2.5", pthread_mutex_timedlock)
SONDE_AS_IN("2.2.5", pthread_mutex_trylock)
SONDE_AS_IN("2.2.5", pthread_once)
SONDE_AS_IN("2.12", pthread_setname_np)
SONDE_AS_IN("2.2.5", pthread_setspecific)
SONDE_AS_IN("2.2.5", pthread_sigmask)
#ifndef SONDE_INTERPOSES_THREADS
SONDE_AS_IN("2.2.5", dlclose)
SONDE_AS_IN("2.2.5", pthread_create)
#endif

#undef SONDE_AS_IN

#endif
