# Tests of the collector and of `vramtrace record`.
foreach(stem sort quote proc_stat)
  add_executable(test_${stem} unit/test_${stem}.c)
  target_link_libraries(test_${stem} PRIVATE vt_collector PkgConfig::CMOCKA Threads::Threads)
  add_test(NAME unit.${stem} COMMAND test_${stem})
endforeach()
