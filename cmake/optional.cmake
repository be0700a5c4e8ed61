# What the build uses where the machine has it. Each such package is named here and nowhere else, so
# that a check can build without it: SONDE_HIDE is a list of names, or "all", that are not found, and
# whose headers cannot be included by accident (`./dev optional`; the test build.emptiest).
#
# sonde_optional(zstd PACKAGE libzstd-dev HEADERS zstd.h LIBRARIES zstd WITHOUT "what is left out")
# looks for the headers, libraries (a|b: one of them) and programs. Where all are there, HAS_ZSTD is
# set, and optional::zstd brings the headers' folder and the libraries; programs are ZSTD_PROGRAM_1 and
# so on. FROM names folders to look in, SUFFIXES folders of headers below the usual ones, DEPENDS other
# optional ones.
set(SONDE_HIDE "" CACHE STRING "Optional packages to build without: names of optional.cmake, or all")
set(hidden_headers ${PROJECT_BINARY_DIR}/hidden)

function(sonde_optional name)
  cmake_parse_arguments(ARG "" "PACKAGE;WITHOUT" "HEADERS;LIBRARIES;PROGRAMS;FROM;SUFFIXES;DEPENDS" ${ARGN})
  string(TOUPPER ${name} NAME)
  set_property(GLOBAL APPEND PROPERTY SONDE_OPTIONAL ${name})
  set(HAS_${NAME} FALSE PARENT_SCOPE)
  set(HAS_${NAME} FALSE)
  if("all" IN_LIST SONDE_HIDE OR "${name}" IN_LIST SONDE_HIDE)
    foreach(header ${ARG_HEADERS})
      file(WRITE ${hidden_headers}/${header} "#error \"SONDE_HIDE: ${header} is of ${ARG_PACKAGE}\"\n")
    endforeach()
    sonde_left_out("${ARG_WITHOUT}" "${ARG_PACKAGE}")
    return()
  endif()
  foreach(header ${ARG_HEADERS})
    file(REMOVE ${hidden_headers}/${header})
  endforeach()

  set(found TRUE)
  set(libraries "")
  foreach(dependency ${ARG_DEPENDS})
    string(TOUPPER ${dependency} DEPENDENCY)
    if(NOT HAS_${DEPENDENCY})
      set(found FALSE)
    endif()
  endforeach()
  foreach(kind path:HEADER:HEADERS library:LIBRARY:LIBRARIES program:PROGRAM:PROGRAMS)
    string(REPLACE ":" ";" kind ${kind})
    list(POP_FRONT kind finds WHAT argument)
    set(number 0)
    foreach(each ${ARG_${argument}})
      math(EXPR number "${number} + 1")
      sonde_look_for(${finds} ${NAME}_${WHAT}_${number} "${each}" "${ARG_FROM}")
      if(WHAT STREQUAL "LIBRARY")
        list(APPEND libraries ${${NAME}_LIBRARY_${number}})
      endif()
    endforeach()
  endforeach()
  set(folder ${${NAME}_HEADER_1})
  if(NOT found)
    sonde_left_out("${ARG_WITHOUT}" "${ARG_PACKAGE}")
    return()
  endif()
  set(HAS_${NAME} TRUE PARENT_SCOPE)
  add_library(optional_${name} INTERFACE)
  add_library(optional::${name} ALIAS optional_${name})
  target_link_libraries(optional_${name} INTERFACE ${libraries})
  if(folder)
    target_include_directories(optional_${name} SYSTEM INTERFACE ${folder})
  endif()
endfunction()

# Clears `found` of the caller where there is none of the NAMES. What was found and has been removed
# since is looked for again.
macro(sonde_look_for kind variable names folders)
  if(${variable} AND NOT EXISTS "${${variable}}")
    unset(${variable} CACHE)
  endif()
  string(REPLACE "|" ";" alternatives "${names}")
  set(places "")
  if(NOT "${folders}" STREQUAL "")
    set(places PATHS ${folders} NO_DEFAULT_PATH)
  endif()
  if("${kind}" STREQUAL "path")
    find_path(${variable} NAMES ${alternatives} ${places} PATH_SUFFIXES ${ARG_SUFFIXES})
  elseif("${kind}" STREQUAL "library")
    find_library(${variable} NAMES ${alternatives} ${places})
  else()
    find_program(${variable} NAMES ${alternatives})
  endif()
  mark_as_advanced(${variable})
  if(NOT ${variable})
    set(found FALSE)
  endif()
endmacro()

# sonde_left_out("the tests of HIP" "hipcc"): for the closing lines of the configuration and the
# summary of ./dev test.
function(sonde_left_out what package)
  set_property(GLOBAL APPEND PROPERTY SONDE_LEFT_OUT "${what} (no ${package})")
endfunction()

function(sonde_write_left_out)
  get_property(lines GLOBAL PROPERTY SONDE_LEFT_OUT)
  list(REMOVE_DUPLICATES lines)
  set(text "")
  foreach(line ${lines})
    message(STATUS "left out: ${line}")
    string(APPEND text "${line}\n")
  endforeach()
  file(WRITE ${PROJECT_BINARY_DIR}/left_out.txt "${text}")
  get_property(names GLOBAL PROPERTY SONDE_OPTIONAL)
  string(REPLACE ";" "\n" names "${names}")
  file(WRITE ${PROJECT_BINARY_DIR}/optional.txt "${names}\n")
endfunction()

if(SONDE_HIDE)
  include_directories(BEFORE ${hidden_headers})
endif()

# For the tool.
sonde_optional(zstd PACKAGE libzstd-dev HEADERS zstd.h LIBRARIES zstd
               WITHOUT "reading of traces compressed with zstd")
sonde_optional(libdeflate PACKAGE libdeflate-dev HEADERS libdeflate.h LIBRARIES deflate
               WITHOUT "libdeflate: .pftrace files are compressed with zlib")
sonde_optional(otf2 PACKAGE libopen-trace-format2-dev HEADERS otf2/otf2.h
               LIBRARIES open-trace-format2|open_trace_format2|otf2 WITHOUT "sonde export --format otf2")
sonde_optional(httplib PACKAGE libcpp-httplib-dev HEADERS httplib.h openssl/ssl.h brotli/decode.h
               LIBRARIES cpp-httplib WITHOUT "libsonde-http.so: the server of pages in a browser")
if(HAS_HTTPLIB)  # a part of it that is not for all is built on, and differs between versions
  file(STRINGS ${HTTPLIB_HEADER_1}/httplib.h version REGEX "CPPHTTPLIB_VERSION \"0\\.[0-9]+")
  string(REGEX REPLACE ".*\"0\\.([0-9]+).*" "\\1" HTTPLIB_MINOR "${version}")
  if(NOT HTTPLIB_MINOR MATCHES "^(11|18|41)$")
    set(HAS_HTTPLIB FALSE)
    sonde_left_out("libsonde-http.so: the server of pages in a browser" "libcpp-httplib-dev 0.11, 0.18 or 0.41")
  endif()
endif()
# For backends.
sonde_optional(opencl_headers PACKAGE opencl-c-headers HEADERS CL/cl_layer.h CL/cl.h CL/cl_ext.h
               CL/cl_icd.h CL/cl_platform.h WITHOUT "the OpenCL backend")
sonde_optional(torch PACKAGE libtorch-dev HEADERS ATen/record_function.h
               LIBRARIES torch_cpu c10
               WITHOUT "libsonde-torch.so: operators are recorded through Python only")
# For softgpu.
sonde_optional(kfd PACKAGE linux-libc-dev HEADERS linux/kfd_ioctl.h
               WITHOUT "the software GPU: record --softgpu and all tests on it")
sonde_optional(drm PACKAGE libdrm-dev HEADERS libdrm/amdgpu_drm.h libdrm/drm.h
               WITHOUT "the software GPU: record --softgpu and all tests on it")
sonde_optional(hsa PACKAGE libhsa-runtime-dev HEADERS hsa/hsa.h hsa/amd_hsa_queue.h
               hsa/hsa_api_trace.h hsa/hsa_ext_amd.h hsa/hsa_ven_amd_aqlprofile.h LIBRARIES hsa-runtime64
               WITHOUT "the software GPU: record --softgpu and all tests on it")
sonde_optional(json PACKAGE nlohmann-json3-dev HEADERS nlohmann/json.hpp
               WITHOUT "the software GPU: record --softgpu and all tests on it")
sonde_optional(hipcc PACKAGE hipcc PROGRAMS hipcc WITHOUT "programs in HIP and all tests with them")
set(HIPCC ${HIPCC_PROGRAM_1})
# The LLVM that hipcc uses, whose bitcode no other version has to read.
set(version 15)
if(HAS_HIPCC)
  execute_process(COMMAND ${HIPCC} --version OUTPUT_VARIABLE text ERROR_QUIET)
  if(text MATCHES "clang version ([0-9]+)")
    set(version ${CMAKE_MATCH_1})
  endif()
endif()
if(NOT "${SONDE_LLVM_VERSION}" STREQUAL "${version}")
  foreach(found LLVM_HEADER_1 LLVM_LIBRARY_1 LLVM_PROGRAM_1 LLVM_PROGRAM_2 AMDGPU_CLANG_PROGRAM_1
                AMDGPU_CLANG_PROGRAM_2)
    unset(${found} CACHE)
  endforeach()
  set(SONDE_LLVM_VERSION ${version} CACHE INTERNAL "")
endif()
sonde_optional(llvm PACKAGE "llvm-${version}-dev or clang-${version}" HEADERS llvm/IR/Module.h
               LIBRARIES LLVM-${version} PROGRAMS clang-${version} llvm-link-${version}
               FROM /usr/lib/llvm-${version}/include /usr/lib/llvm-${version}/lib
               WITHOUT "softgpu-hipcc: kernels complete on the software GPU without computing")
# For tests and examples.
sonde_optional(gtest PACKAGE libgtest-dev HEADERS gtest/gtest.h LIBRARIES gtest_main gtest
               WITHOUT "all unit tests")
sonde_optional(opencl PACKAGE ocl-icd-opencl-dev DEPENDS opencl_headers LIBRARIES OpenCL
               WITHOUT "programs that use OpenCL: examples/matmul and all tests with them")
sonde_optional(hip PACKAGE libamdhip64-dev HEADERS hip/hip_version.h hip/hip_runtime_api.h
               hip/amd_detail/hip_prof_str.h
               WITHOUT "what is held against HIP's headers")
sonde_optional(rocprim PACKAGE librocprim-dev HEADERS rocprim/rocprim.hpp
               WITHOUT "the test of rocPRIM on the software GPU")
sonde_optional(hsakmt PACKAGE libhsakmt-dev HEADERS hsakmt.h LIBRARIES hsakmt SUFFIXES hsakmt
               WITHOUT "the tests of softgpu that call libhsakmt")
sonde_optional(amdgpu_clang PACKAGE "clang-${version} and lld-${version}"
               PROGRAMS clang-${version}|clang ld.lld-${version}|ld.lld
               WITHOUT "the tests of HSA alone")
sonde_optional(tbb PACKAGE libtbb-dev HEADERS oneapi/tbb/flow_graph.h LIBRARIES tbb
               WITHOUT "the test of a library with ITT marks of its own")
# For measurements.
sonde_optional(lttng PACKAGE liblttng-ust-dev HEADERS lttng/tracepoint.h LIBRARIES lttng-ust
               WITHOUT "the comparison with LTTng")
sonde_optional(unwind PACKAGE libunwind-dev HEADERS libunwind.h LIBRARIES unwind
               WITHOUT "the comparison with libunwind")
