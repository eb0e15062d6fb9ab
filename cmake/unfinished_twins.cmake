# carillon_unfinished_twins: the stages whose twin is in rtl/ but does not agree in all runs yet, by
# docs/spec/stages.toml (twin_done = false). Neither the twin nor its planted bugs and tests are built,
# unless CARILLON_RTL_TWINS names it.
set(carillon_unfinished_twins "")
set(stages_spec "${PROJECT_SOURCE_DIR}/docs/spec/stages.toml")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${stages_spec}")
string(REPLACE "," ";" named_twins "${CARILLON_RTL_TWINS}")
file(STRINGS "${stages_spec}" lines REGEX "^\\[stage\\.[a-z0-9_]+\\]|^twin_done *=")
foreach(line IN LISTS lines)
  if(line MATCHES "^\\[stage\\.([a-z0-9_]+)\\]")
    set(stage "${CMAKE_MATCH_1}")
  elseif(line MATCHES "false" AND NOT stage IN_LIST named_twins)
    list(APPEND carillon_unfinished_twins "${stage}")
  endif()
endforeach()
