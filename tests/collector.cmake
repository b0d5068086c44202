# Tests of the collector and of `vramtrace record`.
if(NOT TARGET PkgConfig::CMOCKA)
  pkg_check_modules(CMOCKA REQUIRED IMPORTED_TARGET cmocka)
endif()
foreach(stem sort quote proc_stat)
  add_executable(test_${stem} unit/test_${stem}.c)
  target_link_libraries(test_${stem} PRIVATE vt_collector PkgConfig::CMOCKA Threads::Threads)
  add_test(NAME unit.${stem} COMMAND test_${stem})
endforeach()
