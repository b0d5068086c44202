# Tests of the reports: report, oom, ops.
if(NOT TARGET PkgConfig::CMOCKA)
  pkg_check_modules(CMOCKA REQUIRED IMPORTED_TARGET cmocka)
endif()
foreach(stem views_groups views_parts)
  add_executable(test_${stem} unit/test_${stem}.c unit/array_cursor.c)
  target_link_libraries(test_${stem} PRIVATE vt_analyze PkgConfig::CMOCKA)
  add_test(NAME unit.${stem} COMMAND test_${stem})
endforeach()
