# Tests of the driver-level capture: fakes of NVIDIA's three libraries, a stage for them, one process per test; and our
# description of NVIDIA's binary interface against NVIDIA's headers, where there are any.
if(NOT TARGET PkgConfig::CMOCKA)
  pkg_check_modules(CMOCKA REQUIRED IMPORTED_TARGET cmocka)
endif()

foreach(pair "cupti:13" "cuda:1")
  string(REPLACE ":" ";" pair ${pair})
  list(GET pair 0 name)
  list(GET pair 1 version)
  add_library(fake_${name} SHARED fake/fake_${name}.c)
  set_target_properties(fake_${name} PROPERTIES OUTPUT_NAME ${name} SOVERSION ${version})
endforeach()
add_library(fake_nvml SHARED fake/fake_nvml.c)
set_target_properties(fake_nvml PROPERTIES OUTPUT_NAME nvidia-ml SOVERSION 1)
# -Bsymbolic: the test program has functions of the same names, as a program under capture has ours.
foreach(name cupti cuda nvml)
  target_link_libraries(fake_${name} PRIVATE vt_abi)
  target_link_options(fake_${name} PRIVATE -Wl,-Bsymbolic)
  set_target_properties(fake_${name} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/fake)
endforeach()

add_library(fake_user SHARED fake/fake_user.c)
target_link_libraries(fake_user PRIVATE vt_options)
target_compile_options(fake_user PRIVATE -fvisibility=default)
set_target_properties(fake_user PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/fake)

add_library(cupti_stage STATIC fake/cupti_stage.c)
target_compile_definitions(cupti_stage PUBLIC VT_FAKE_DIR="${PROJECT_BINARY_DIR}/tests/fake")
target_link_libraries(cupti_stage PUBLIC vt_agent_core vt_ring vt_options PkgConfig::CMOCKA Threads::Threads ${CMAKE_DL_LIBS})
add_dependencies(cupti_stage fake_cupti fake_cuda fake_nvml)

add_executable(test_cupti_decode unit/test_cupti_decode.c)
target_link_libraries(test_cupti_decode PRIVATE vt_agent_core vt_options PkgConfig::CMOCKA)
add_test(NAME unit.cupti_decode COMMAND test_cupti_decode)

add_executable(test_cupti unit/test_cupti.c)
target_link_libraries(test_cupti PRIVATE cupti_stage fake_user)
add_executable(test_cupti_broker unit/test_cupti_broker.c ${PROJECT_SOURCE_DIR}/capture/agent/cupti_interpose.c)
target_link_libraries(test_cupti_broker PRIVATE cupti_stage)

# One ctest entry for each test of a file, from its TEST(...) lines.
foreach(file cupti cupti_broker)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/unit/test_${file}.c)
  file(STRINGS unit/test_${file}.c lines REGEX "^\t\tTEST\\(")
  foreach(line ${lines})
    string(REGEX REPLACE ".*TEST\\(([a-z0-9_]+)\\).*" "\\1" test ${line})
    add_test(NAME unit.${file}.${test} COMMAND test_${file} ${test})
    set_tests_properties(unit.${file}.${test} PROPERTIES TIMEOUT 60)
  endforeach()
endforeach()

# Header sets: those of a toolkit, and of unpacked wheels that VT_CUDA_INCLUDES names (lists of directories, joined by ":").
set(VT_CUDA_INCLUDES "" CACHE STRING "More CUDA header sets to check the interface against")
find_path(VT_CUPTI_INCLUDE cupti.h HINTS $ENV{CUDA_HOME} $ENV{CUDA_PATH} /usr/local/cuda /usr/local/cuda-13.0 /usr/local/cuda-12.9
  PATH_SUFFIXES include extras/CUPTI/include)
find_path(VT_CUDA_INCLUDE cuda.h HINTS $ENV{CUDA_HOME} $ENV{CUDA_PATH} /usr/local/cuda /usr/local/cuda-13.0 /usr/local/cuda-12.9
  PATH_SUFFIXES include)
set(sets ${VT_CUDA_INCLUDES})
if(VT_CUPTI_INCLUDE AND VT_CUDA_INCLUDE)
  list(APPEND sets ${VT_CUPTI_INCLUDE}:${VT_CUDA_INCLUDE})
endif()
if(sets)
  set(number 0)
  foreach(directories ${sets})
    string(REPLACE ":" ";" directories ${directories})
    set(includes)
    foreach(directory ${directories})
      list(APPEND includes -isystem ${directory})
    endforeach()
    add_test(NAME abi.cupti_${number} COMMAND ${CMAKE_C_COMPILER} -std=gnu17 -fsyntax-only -I${PROJECT_SOURCE_DIR} ${includes}
      ${CMAKE_CURRENT_SOURCE_DIR}/abi/cupti_abi_check.c)
    math(EXPR number "${number} + 1")
  endforeach()
else()
  message(WARNING "No cupti.h and cuda.h found: cupti_abi.h is not checked against them")
  add_test(NAME abi.cupti COMMAND sh -c "echo 'skipped: no cupti.h and cuda.h found (set CUDA_HOME or VT_CUDA_INCLUDES)'; exit 77")
  set_tests_properties(abi.cupti PROPERTIES SKIP_RETURN_CODE 77)
endif()

find_program(VT_PYTHON3 python3)
if(VT_PYTHON3)
  add_test(NAME device.check_truth COMMAND ${VT_PYTHON3} ${CMAKE_CURRENT_SOURCE_DIR}/device/test_check_truth.py)
endif()

add_executable(fake_profiler fake/fake_profiler.c)
target_link_libraries(fake_profiler PRIVATE vt_abi fake_cupti ${CMAKE_DL_LIBS})
set_target_properties(fake_profiler PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/fake)
add_dependencies(fake_profiler fake_cuda fake_nvml dump_rings)
# A program that brings the sanitizer's runtime with it: only the agent is to be preloaded.
add_test(NAME e2e.shared_cupti COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/e2e/shared_cupti.sh $<TARGET_FILE:vt_agent>
  ${PROJECT_BINARY_DIR}/tests/fake)
set_tests_properties(e2e.shared_cupti PROPERTIES ENVIRONMENT ASAN_OPTIONS=detect_leaks=0:verify_asan_link_order=0)

add_executable(test_replay_driver unit/test_replay_driver.c)
target_link_libraries(test_replay_driver PRIVATE vt_analyze vt_options PkgConfig::CMOCKA)
add_test(NAME unit.replay_driver COMMAND test_replay_driver)

# Here, for the fakes.
add_test(NAME e2e.doctor COMMAND python3 ${CMAKE_CURRENT_SOURCE_DIR}/e2e/doctor.py $<TARGET_FILE:vramtrace> ${PROJECT_BINARY_DIR}/tests/fake)
set_tests_properties(e2e.doctor PROPERTIES TIMEOUT 300
  ENVIRONMENT "ASAN_OPTIONS=detect_leaks=0:verify_asan_link_order=0")
