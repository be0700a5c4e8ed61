// Included before every source that is loaded into traced programs (cmake/sonde.cmake). It binds
// functions that newer versions of glibc moved from libdl and libpthread to libc to their old
// versions, so that the library runs in a program with glibc 2.28. All later versions still have
// the old symbols; each library depends on the two libraries, which are empty by now. It also
// selects the number parsers from before C23, which reads 0b1 as a number: glibc 2.38 and later
// have both, and give GNU's C++ the new ones under names that older versions lack.
//
// tests/support/check_libraries.py finds what is missing here. Functions whose old version has
// another name (stat, fstat) are not used at all.
#pragma once

#ifndef _GNU_SOURCE
#define _GNU_SOURCE  // before the first header: a definition in a C source comes too late
#endif
#include <features.h>

#undef __GLIBC_USE_C2X_STRTOL  // glibc 2.38 and 2.39
#define __GLIBC_USE_C2X_STRTOL 0
#undef __GLIBC_USE_C23_STRTOL  // the name in later versions
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
