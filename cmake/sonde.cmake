# The kinds of things this project builds, each with its flags in one place:
#   sonde_library(name ...)         a static library of the tool
#   sonde_target_library(name ...)  a shared library that is loaded into the traced program
#   sonde_suite(name ...)           end-to-end tests
#   sonde_registry(...)             a generated array of everything of one kind in a folder

add_custom_target(product)  # all that is installed: no test

add_library(sonde_plain INTERFACE)
target_include_directories(sonde_plain INTERFACE ${PROJECT_SOURCE_DIR}/src
                           ${PROJECT_SOURCE_DIR}/include ${PROJECT_BINARY_DIR}/generated)
target_compile_options(sonde_plain INTERFACE -Wall -Wextra -Wshadow $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor>
                       -Wno-missing-field-initializers)
target_compile_definitions(sonde_plain INTERFACE SONDE_VERSION="${PROJECT_VERSION}")

# With sanitizers, in a build that has them. vptr is none of them: it reads memory through a pipe, and
# takes an object for a wrong one where a test leaves no file descriptor. Nor is clang's function: it
# reads what stands before a function, and before code that is made at run time there is nothing.
add_library(sonde_flags INTERFACE)
target_link_libraries(sonde_flags INTERFACE sonde_plain)
if(SONDE_SANITIZE)
  target_compile_options(sonde_flags INTERFACE -fsanitize=${SONDE_SANITIZE} -fno-sanitize=vptr
                         $<$<CXX_COMPILER_ID:Clang>:-fno-sanitize=function> -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(sonde_flags INTERFACE -fsanitize=${SONDE_SANITIZE})
endif()
if(SONDE_SANITIZE MATCHES thread)  # for tests; gcc and clang say it differently
  target_compile_definitions(sonde_flags INTERFACE SONDE_TSAN)
endif()
set(SONDE_FUZZ OFF)
if(SONDE_SANITIZE MATCHES address AND CMAKE_CXX_COMPILER_ID MATCHES Clang)
  set(SONDE_FUZZ ON)
endif()
# lld links 170 MB of a test in a quarter of the time that ld takes. Released builds have Debian's usual.
find_program(SONDE_LLD ld.lld)
if(SONDE_SANITIZE AND SONDE_LLD AND CMAKE_CXX_COMPILER_ID MATCHES Clang)
  target_link_options(sonde_flags INTERFACE -fuse-ld=lld)
endif()
# Programs with AddressSanitizer start in less than half the time if nothing in them is to be relocated, and
# tests start them thousands of times.
if(SONDE_SANITIZE MATCHES address)
  target_link_options(sonde_flags INTERFACE $<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:-no-pie>)
endif()

# sonde_precompile(TARGET [OWNER]): headers of the C++ library and fmt, on which a third of the time of
# compiling goes, are read once: for the target, or for the owner and all of its flags. Not with a compiler
# cache, which would find no object of another checkout again; such builds, and build.emptiest, show what a
# source forgot to include.
function(sonde_precompile target)
  if(CMAKE_CXX_COMPILER_LAUNCHER)
    return()
  elseif(ARGC GREATER 1 AND NOT target STREQUAL ARGV1)
    target_precompile_headers(${target} REUSE_FROM ${ARGV1})
  else()
    target_precompile_headers(${target} PRIVATE
      $<$<COMPILE_LANGUAGE:CXX>:${PROJECT_SOURCE_DIR}/cmake/precompiled.h>)
    if(target MATCHES "_test$")
      target_precompile_headers(${target} PRIVATE <gtest/gtest.h>)
    endif()
  endif()
endfunction()

# sonde_library(store DEPENDS base wire) takes every *.cpp of the folder and of those within it but the
# tests, and but those named by WITHOUT.
function(sonde_library name)
  cmake_parse_arguments(ARG "" "" "DEPENDS;LINK;WITHOUT" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  list(FILTER sources EXCLUDE REGEX "_test\\.cpp$")
  list(TRANSFORM ARG_WITHOUT PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
  list(REMOVE_ITEM sources ${ARG_WITHOUT} "")
  if(sources)
    add_library(sonde_${name} STATIC ${sources})
    set(scope PUBLIC)
  else()
    add_library(sonde_${name} INTERFACE)
    set(scope INTERFACE)
  endif()
  target_link_libraries(sonde_${name} ${scope} sonde_flags ${ARG_LINK})
  foreach(dependency ${ARG_DEPENDS})
    target_link_libraries(sonde_${name} ${scope} sonde_${dependency})
  endforeach()
  if(sources)
    sonde_precompile(sonde_${name} sonde_base)
  endif()
  sonde_unit_tests(${name} sonde_${name})
  if(TARGET ${name}_test)
    sonde_precompile(${name}_test base_test)
  endif()
endfunction()

# Unit tests stand beside their source: foo_test.cpp. One executable per folder of src/.
function(sonde_unit_tests name)
  file(GLOB_RECURSE tests CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*_test.cpp)
  if(tests AND HAS_GTEST)
    add_executable(${name}_test ${tests})
    target_link_libraries(${name}_test PRIVATE ${ARGN} sonde_flags optional::gtest)
    target_compile_options(${name}_test PRIVATE -O0)  # of the test's own code; half the time to compile
    add_test(NAME unit.${name} COMMAND ${name}_test WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
    set_tests_properties(unit.${name} PROPERTIES LABELS unit)
  endif()
endfunction()

# sonde_suite(e2e.cpu e2e cpu.toml): a suite of tests/e2e/run.py, as a test with a label. The runner
# ends each case that takes too long; the limit here is for the runner itself.
function(sonde_suite name label suite)
  add_test(NAME ${name}
           COMMAND /usr/bin/python3 ${PROJECT_SOURCE_DIR}/tests/e2e/run.py
                   --build ${PROJECT_BINARY_DIR} ${suite}
           WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(${name} PROPERTIES LABELS ${label} SKIP_RETURN_CODE 77 PROCESSORS 2
                       TIMEOUT 1200)
endfunction()

# sonde_python_test(NAME SCRIPT ARGUMENT... [PROPERTIES ...]): a script beside the list, as a test which
# exit status 77 skips. Its label is e2e where the properties name no other.
function(sonde_python_test name script)
  cmake_parse_arguments(ARG "" "" "PROPERTIES" ${ARGN})
  get_filename_component(script ${script} ABSOLUTE)
  add_test(NAME ${name} COMMAND /usr/bin/python3 ${script} ${ARG_UNPARSED_ARGUMENTS})
  set_tests_properties(${name} PROPERTIES LABELS e2e SKIP_RETURN_CODE 77 ${ARG_PROPERTIES})
endfunction()

# How code that runs inside the traced program is compiled: no exceptions, no RTTI, nothing but libc,
# of glibc 2.28 or newer. No sanitizer either, for programs that have none; unit tests link the same
# sources with it.
function(sonde_compile_for_target name)
  target_link_libraries(${name} PRIVATE sonde_plain)
  target_compile_options(${name} PRIVATE -fvisibility=hidden -ftls-model=initial-exec
    $<$<COMPILE_LANGUAGE:CXX>:-fno-exceptions -fno-rtti -fno-threadsafe-statics
      -fvisibility-inlines-hidden> -O2 -fno-plt -fdata-sections -include ${PROJECT_SOURCE_DIR}/src/base/old_glibc.h)
endfunction()

# sonde_seldom_run(SOURCE ...): code of the traced program's side whose size matters, not its time.
function(sonde_seldom_run)
  set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS -Os)
endfunction()

# sonde_preloaded(SOURCES ...): a part of libsonde-agent.so (src/backends/CMakeLists.txt).
function(sonde_preloaded name)
  cmake_parse_arguments(ARG "" "" "SOURCES" ${ARGN})
  add_library(${name} OBJECT ${ARG_SOURCES})
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  sonde_compile_for_target(${name})
  set_property(GLOBAL APPEND PROPERTY SONDE_PRELOADED $<TARGET_OBJECTS:${name}>)
endfunction()

# A library that is loaded into the traced program: with only the symbols of its version script, never
# unloaded.
function(sonde_target_library name)
  cmake_parse_arguments(ARG "" "OUTPUT;EXPORTS;SONAME;FOLDER" "SOURCES" ${ARGN})
  add_library(${name} SHARED ${ARG_SOURCES})
  add_dependencies(product ${name})
  sonde_compile_for_target(${name})
  # What loading it costs a process: noseparate-code maps the file twice instead of four times, and sorted
  # by alignment, the small variables that every process touches are not among large tables.
  target_link_options(${name} PRIVATE -Wl,-z,nodelete -Wl,-z,now -Wl,-z,noseparate-code -Wl,--as-needed
    -static-libgcc -Wl,-z,defs -Wl,--gc-sections -Wl,--sort-section=alignment
    -Wl,--version-script=${CMAKE_CURRENT_SOURCE_DIR}/${ARG_EXPORTS})
  target_link_libraries(${name} PRIVATE
    -Wl,--push-state,--no-as-needed -l:libdl.so.2 -l:libpthread.so.0 -Wl,--pop-state)
  set_target_properties(${name} PROPERTIES
    OUTPUT_NAME ${ARG_OUTPUT} LINK_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${ARG_EXPORTS}
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib/sonde/${ARG_FOLDER})
  if(ARG_SONAME)
    set_target_properties(${name} PROPERTIES NO_SONAME ON)
    target_link_options(${name} PRIVATE -Wl,-soname,${ARG_SONAME})
  endif()
  install(TARGETS ${name} DESTINATION lib/sonde/${ARG_FOLDER})
endfunction()

# sonde_defined(OUT names TYPE Exporter SUFFIX exporter FILES ...) finds the names of the functions
# `Exporter NAME_exporter()` that the files define at the beginning of a line; tests, which
# declare them, are left out.
function(sonde_defined)
  cmake_parse_arguments(ARG "" "OUT;TYPE;SUFFIX" "FILES" ${ARGN})
  list(FILTER ARG_FILES EXCLUDE REGEX "_test\\.cpp$")
  set(names "")
  foreach(file ${ARG_FILES})
    file(STRINGS ${file} definitions REGEX "^${ARG_TYPE} [a-z0-9_]+_${ARG_SUFFIX}\\(\\)")
    foreach(definition ${definitions})
      string(REGEX MATCH "([a-z0-9_]+)_${ARG_SUFFIX}" found "${definition}")
      list(APPEND names ${CMAKE_MATCH_1})
    endforeach()
  endforeach()
  list(SORT names)
  set(${ARG_OUT} ${names} PARENT_SCOPE)
endfunction()

# sonde_registry(OUT variable TYPE Command SUFFIX command HEADER "cli/command.h" NAMES top busy)
# writes a source that defines `std::span<const Command> all_commands()` from functions
# `Command top_command();`. A newcomer adds a file, and no list is edited. PLURAL is for a
# suffix that does not take an s.
function(sonde_registry)
  cmake_parse_arguments(ARG "" "OUT;TYPE;SUFFIX;PLURAL;HEADER;NAMESPACE" "NAMES" ${ARGN})
  if(NOT ARG_PLURAL)
    set(ARG_PLURAL ${ARG_SUFFIX}s)
  endif()
  set(text "// Generated from the files of ${CMAKE_CURRENT_SOURCE_DIR}; do not edit.\n")
  string(APPEND text "#include \"${ARG_HEADER}\"\n\nnamespace ${ARG_NAMESPACE} {\n")
  foreach(item ${ARG_NAMES})
    string(APPEND text "${ARG_TYPE} ${item}_${ARG_SUFFIX}();\n")
  endforeach()
  string(APPEND text "std::span<const ${ARG_TYPE}> all_${ARG_PLURAL}() {\n"
                     "  static const ${ARG_TYPE} kAll[] = {\n")
  foreach(item ${ARG_NAMES})
    string(APPEND text "      ${item}_${ARG_SUFFIX}(),\n")
  endforeach()
  string(APPEND text "  };\n  return kAll;\n}\n}  // namespace ${ARG_NAMESPACE}\n")
  set(file ${PROJECT_BINARY_DIR}/generated/all_${ARG_PLURAL}.cpp)
  file(GENERATE OUTPUT ${file} CONTENT "${text}")
  set(${ARG_OUT} ${file} PARENT_SCOPE)
endfunction()
