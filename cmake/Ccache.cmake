# Compile through ccache where there is one. Paths are hashed relative to the checkout, so that several checkouts and
# build folders of the same depth share their objects.
find_program(FLAMBEAU_CCACHE ccache)
if(FLAMBEAU_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} ${FLAMBEAU_CCACHE})
endif()
