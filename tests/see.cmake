# Tests of what people look at: flame graphs, the page, the terminal.
set(VT_REAL_TRACES ${CMAKE_CURRENT_SOURCE_DIR}/data/h200_train.vramtrace ${CMAKE_CURRENT_SOURCE_DIR}/data/h200_leak.vramtrace
  ${CMAKE_CURRENT_SOURCE_DIR}/data/h200_oom.vramtrace)
add_test(NAME e2e.flame COMMAND ${VT_PYTHON3} ${CMAKE_CURRENT_SOURCE_DIR}/e2e/flame.py $<TARGET_FILE:vramtrace>
  $<TARGET_FILE:make_views_trace> ${VT_REAL_TRACES})
