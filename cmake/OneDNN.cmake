# oneDNN is called through csrc/dnn/library.cpp, which opens it on first use: mapping it costs 4 ms and 14 MB, more than
# all the rest of the import. So nothing links it; only csrc/dnn sees its headers, and one stripped copy is installed
# beside the extension, whose RUNPATH (onednn_rpath) finds it.
function(flambeau_use_onednn target)
  if(FLAMBEAU_DNNL_ROOT)
    find_path(include oneapi/dnnl/dnnl.hpp HINTS ${FLAMBEAU_DNNL_ROOT}/include NO_CACHE REQUIRED)
    find_file(library libdnnl.so.3 HINTS ${FLAMBEAU_DNNL_ROOT} PATH_SUFFIXES lib lib64 NO_CACHE REQUIRED)
    cmake_path(GET library PARENT_PATH folder)
    set(onednn_rpath ${folder} PARENT_SCOPE)
  else()
    # The wheels unpack into the prefix of the environment, outside site-packages: only their records know where.
    execute_process(
      COMMAND
        ${Python_EXECUTABLE} -c "
import importlib.metadata, os
def find(package, ending):
    paths = importlib.metadata.files(package)
    return os.path.realpath(next(path for path in paths if str(path).endswith(ending)).locate())
header = find('onednn-devel-cpu-gomp', 'oneapi/dnnl/dnnl.hpp')
print(find('onednn-cpu-gomp', 'libdnnl.so.3'), header.removesuffix('/oneapi/dnnl/dnnl.hpp'), sep=';', end='')"
      OUTPUT_VARIABLE found COMMAND_ERROR_IS_FATAL ANY)
    list(GET found 0 original)
    list(GET found 1 include)
    if(FLAMBEAU_INPLACE)
      set(library ${CMAKE_SOURCE_DIR}/flambeau/lib/libdnnl.so.3)
      file(MAKE_DIRECTORY ${CMAKE_SOURCE_DIR}/flambeau/lib)
    else()
      set(library ${CMAKE_BINARY_DIR}/lib/libdnnl.so.3)
      file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
    endif()
    # Not a dependency on the original: an isolated build has it at another path each time.
    add_custom_command(
      OUTPUT ${library}
      COMMAND ${CMAKE_STRIP} --strip-unneeded -o ${library} ${original}
      COMMENT "Stripping oneDNN")
    add_custom_target(bundled_onednn ALL DEPENDS ${library})
    set(onednn_rpath "$ORIGIN/lib" PARENT_SCOPE)
    install(PROGRAMS ${library} DESTINATION flambeau/lib)
  endif()
  message(STATUS "oneDNN headers: ${include}")
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "^csrc/dnn/")
  set_source_files_properties(${sources} PROPERTIES INCLUDE_DIRECTORIES ${include})
endfunction()
