# hopgap_module(broker LEVEL 2 DEPS pubsub trace base LIBS absl::status)
#
# Makes the library hopgap::broker from every src/broker/*.cc that is not a
# test, and the test program broker_test from every src/broker/*_test.cc.
# Configuration stops if a dependency is not on a strictly lower level. LIBS is
# the only place where a third-party name appears. HEADERS own: the room brings
# compiled headers itself.
#
# Several sources of a room are compiled as one (docs/adr/0007): what a file
# keeps to itself is still named apart from its neighbours'.
set(HOPGAP_UNITY ON CACHE BOOL "compile several files of a room as one; off for tools that read file by file")
function(hopgap_unity target files)
  if(NOT HOPGAP_UNITY)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/${target}.unity)
  set(units "")
  set(taken 0)
  foreach(source IN LISTS sources)
    get_source_file_property(alone ${source} SKIP_UNITY_BUILD_INCLUSION)
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
    if(alone OR NOT source MATCHES "\\.cc$")
      list(APPEND units ${source})
      continue()
    endif()
    math(EXPR unit "${taken} / ${files}")
    math(EXPR taken "${taken} + 1")
    # Relative, so that ccache knows the unit again in another checkout; CMake's own units name absolute paths.
    file(RELATIVE_PATH path ${folder} ${source})
    string(APPEND text_${unit} "#include \"${path}\"\n")
  endforeach()
  math(EXPR last "(${taken} - 1) / ${files}")
  foreach(unit RANGE ${last})
    file(CONFIGURE OUTPUT ${folder}/${unit}.cc CONTENT "${text_${unit}}" @ONLY)
    list(APPEND units ${folder}/${unit}.cc)
  endforeach()
  set_target_properties(${target} PROPERTIES SOURCES "${units}")
endfunction()

function(hopgap_module name)
  cmake_parse_arguments(ARG "" "LEVEL;HEADERS" "DEPS;LIBS;TEST_DEPS;TEST_LIBS" ${ARGN})
  if(NOT DEFINED ARG_LEVEL)
    message(FATAL_ERROR "hopgap_module(${name}): LEVEL is missing")
  endif()
  set_property(GLOBAL PROPERTY HOPGAP_LEVEL_${name} ${ARG_LEVEL})
  set_property(GLOBAL APPEND PROPERTY HOPGAP_MODULES ${name})
  foreach(dep IN LISTS ARG_DEPS)
    get_property(dep_level GLOBAL PROPERTY HOPGAP_LEVEL_${dep})
    if("${dep_level}" STREQUAL "")
      message(FATAL_ERROR "room '${name}' depends on '${dep}', which is no room configured before it")
    endif()
    if(NOT dep_level LESS ARG_LEVEL)
      message(FATAL_ERROR "room '${name}' (level ${ARG_LEVEL}) may not depend on '${dep}' (level ${dep_level}): dependencies point down, never sideways")
    endif()
  endforeach()

  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
  set(tests ${sources})
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$")
  list(TRANSFORM ARG_DEPS PREPEND "hopgap::" OUTPUT_VARIABLE deps)
  if(sources)
    add_library(hopgap_${name} STATIC ${sources})
    target_include_directories(hopgap_${name} PUBLIC ${CMAKE_SOURCE_DIR}/src)
    target_link_libraries(hopgap_${name} PUBLIC ${deps} ${ARG_LIBS})
    hopgap_headers(${name} "${ARG_HEADERS}")
    hopgap_unity(hopgap_${name} 16)
  else()
    add_library(hopgap_${name} INTERFACE)
    target_include_directories(hopgap_${name} INTERFACE ${CMAKE_SOURCE_DIR}/src)
    target_link_libraries(hopgap_${name} INTERFACE ${deps} ${ARG_LIBS})
  endif()
  add_library(hopgap::${name} ALIAS hopgap_${name})

  if(tests)
    list(TRANSFORM ARG_TEST_DEPS PREPEND "hopgap::" OUTPUT_VARIABLE test_deps)
    add_executable(${name}_test ${tests})
    target_link_libraries(${name}_test PRIVATE hopgap_${name} ${test_deps} ${ARG_TEST_LIBS})
    hopgap_gtest(${name}_test)
    add_test(NAME ${name} COMMAND ${name}_test --gtest_brief=1)
    set_tests_properties(${name} PROPERTIES LABELS unit TIMEOUT 300)  # the broker under ASan takes one
  endif()
endfunction()

# What nearly every file of every room includes, compiled once: a third of the
# time of most files. clang-tidy (./dev lint) reads each file without it, so a
# missing include is found there.
function(hopgap_headers name kind)
  if(kind STREQUAL "own")
    return()
  elseif(kind)
    message(FATAL_ERROR "room '${name}': HEADERS ${kind} is not 'own'")
  elseif(NOT TARGET hopgap_headers)
    file(WRITE ${CMAKE_BINARY_DIR}/headers.cc "")
    add_library(hopgap_headers OBJECT ${CMAKE_BINARY_DIR}/headers.cc)
    target_precompile_headers(hopgap_headers PRIVATE <absl/status/statusor.h> <absl/strings/str_cat.h>
                              <absl/strings/str_format.h> <algorithm> <chrono> <functional> <map> <memory> <optional>
                              <set> <string> <unordered_map> <vector>)
  endif()
  hopgap_shared_headers(hopgap_${name})
endfunction()

# A room, or a program beside the rooms, that begins with them.
function(hopgap_shared_headers target)
  target_precompile_headers(${target} REUSE_FROM hopgap_headers)
endfunction()

# hopgap_gtest(name_test): what every GoogleTest program of ours is. Half of a
# clean build is tests: they are not optimised, and share the compiled headers
# that most of them begin with. FILES: how many are one unit, 8 unless told.
function(hopgap_gtest target)
  cmake_parse_arguments(ARG "" "FILES" "" ${ARGN})
  if(NOT ARG_FILES)
    set(ARG_FILES 8)
  endif()
  if(NOT TARGET hopgap_test_headers)
    file(WRITE ${CMAKE_BINARY_DIR}/test_headers.cc "")
    add_library(hopgap_test_headers OBJECT ${CMAKE_BINARY_DIR}/test_headers.cc)
    target_link_libraries(hopgap_test_headers PRIVATE GTest::gmock GTest::gtest Threads::Threads absl::status
                                                      absl::statusor)
    target_compile_options(hopgap_test_headers PRIVATE -O0)
    target_precompile_headers(hopgap_test_headers PRIVATE <absl/status/statusor.h> <gmock/gmock.h> <gtest/gtest.h>
                              <chrono> <functional> <map> <memory> <optional> <string> <vector>)
  endif()
  target_link_libraries(${target} PRIVATE GTest::gmock GTest::gtest GTest::gtest_main)
  target_compile_options(${target} PRIVATE -O0)
  target_precompile_headers(${target} REUSE_FROM hopgap_test_headers)
  hopgap_unity(${target} ${ARG_FILES})
endfunction()
