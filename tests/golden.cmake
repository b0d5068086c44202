# Recorded traces of a real GPU: what CI can replay without one.
if(VT_PYTHON3)
  add_test(NAME golden.h200 COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/e2e/h200_golden.sh ${PROJECT_BINARY_DIR}/bin ${PROJECT_SOURCE_DIR})
  add_test(NAME golden.kernels COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/e2e/kernels.py $<TARGET_FILE:vramtrace>
    ${CMAKE_CURRENT_SOURCE_DIR}/data/h200_kernels.vramtrace)
  # The model of the allocator against eight runs of the allocator, and what one of them forecasts of others.
  add_test(NAME golden.simulate COMMAND ${VT_PYTHON3} ${CMAKE_CURRENT_SOURCE_DIR}/device/simulate.py ${PROJECT_BINARY_DIR}/bin
    ${CMAKE_CURRENT_SOURCE_DIR}/data/simulate --recorded)
  # What the agent wrote on the GPU, through the collector of today.
  add_executable(play_rings fake/play_rings.c)
  target_link_libraries(play_rings PRIVATE vt_collector_tests vt_schema)
  add_test(NAME golden.rings COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/e2e/ring_streams.sh ${PROJECT_BINARY_DIR}/bin ${PROJECT_SOURCE_DIR}
    $<TARGET_FILE:play_rings>)
endif()
