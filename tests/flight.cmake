# Tests of the recording side's manners: NVTX, control of a running capture, flight recorder, doctor.
add_library(fake_nvtx STATIC fake/fake_nvtx.c)
target_link_libraries(fake_nvtx PUBLIC vt_abi ${CMAKE_DL_LIBS})

add_executable(test_pause unit/test_pause.c)
target_link_libraries(test_pause PRIVATE vt_agent_core vt_ring vt_options fake_aten PkgConfig::CMOCKA Threads::Threads)
add_test(NAME unit.pause COMMAND test_pause)

add_executable(test_nvtx unit/test_nvtx.c)
target_link_libraries(test_nvtx PRIVATE vt_agent_core vt_ring vt_options fake_aten fake_nvtx PkgConfig::CMOCKA Threads::Threads)
add_test(NAME unit.nvtx COMMAND test_nvtx)

find_path(VT_NVTX_INCLUDE nvtx3/nvToolsExt.h HINTS $ENV{CUDA_HOME} $ENV{CUDA_PATH} /usr/local/cuda /usr/local/cuda-13.0
  PATH_SUFFIXES include)
if(VT_NVTX_INCLUDE)
  add_test(NAME abi.nvtx COMMAND ${CMAKE_C_COMPILER} -std=gnu17 -fsyntax-only -I${PROJECT_SOURCE_DIR} -isystem ${VT_NVTX_INCLUDE}
    ${CMAKE_CURRENT_SOURCE_DIR}/abi/nvtx_abi_check.c)
endif()

# vramtrace.h asks for no more than this of a program.
add_executable(marks_program fake/marks_program.c)
target_link_libraries(marks_program PRIVATE vt_options fake_c10 fake_nvtx)
set_target_properties(marks_program PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/fake)
add_test(NAME abi.header_c99 COMMAND ${CMAKE_C_COMPILER} -std=c99 -Wall -Wextra -Wpedantic -Werror -fsyntax-only -x c
  ${PROJECT_SOURCE_DIR}/capture/include/vramtrace.h)
find_program(VT_CXX NAMES g++ clang++)
if(VT_CXX)
  add_test(NAME abi.header_cxx COMMAND ${VT_CXX} -std=c++11 -Wall -Wextra -Werror -fsyntax-only -x c++
    ${PROJECT_SOURCE_DIR}/capture/include/vramtrace.h)
endif()

set(VT_FLIGHT_ENVIRONMENT
  "ASAN_OPTIONS=detect_leaks=0:verify_asan_link_order=0:handle_segv=0:handle_abort=0;TSAN_OPTIONS=handle_segv=0:handle_abort=0")
# Python is not built for thread sanitizer.
if(VT_PYTHON3 AND NOT VT_SANITIZE MATCHES thread)
  foreach(name control marks)
    add_test(NAME e2e.${name} COMMAND ${VT_PYTHON3} ${CMAKE_CURRENT_SOURCE_DIR}/e2e/${name}.py
      ${PROJECT_BINARY_DIR}/bin ${PROJECT_BINARY_DIR}/tests/fake)
    set_tests_properties(e2e.${name} PROPERTIES ENVIRONMENT "${VT_FLIGHT_ENVIRONMENT}")
  endforeach()
endif()
