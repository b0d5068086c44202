# Recorded traces of a real GPU: what CI can replay without one.
if(VT_PYTHON3)
  add_test(NAME golden.h200 COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/e2e/h200_golden.sh ${PROJECT_BINARY_DIR}/bin ${PROJECT_SOURCE_DIR})
endif()
