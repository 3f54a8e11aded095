# Kernel files are compiled once per instruction set, with FL_ISA naming it; the program picks one at load.
# x86-64-v3 is AVX2 with FMA; x86-64-v4 adds AVX-512 F, BW, CD, DQ and VL.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set(known_isas baseline avx2 avx512)
else()
  set(known_isas baseline)
endif()
if(NOT FLAMBEAU_ISAS)
  set(FLAMBEAU_ISAS ${known_isas})
endif()
set(isa_flags_baseline -O3)
set(isa_flags_avx2 -O3 -march=x86-64-v3)
set(isa_flags_avx512 -O3 -march=x86-64-v4 -mprefer-vector-width=512)

# flambeau_add_kernels(TARGET SOURCES): adds the objects of every chosen instruction set to TARGET and defines
# FL_HAS_BASELINE, FL_HAS_AVX2, FL_HAS_AVX512 for the core.
function(flambeau_add_kernels target sources)
  # Pointwise bodies are vectors already: there -O3 only adds code.
  set(pointwise ${sources})
  list(FILTER pointwise INCLUDE REGEX "/pointwise/")
  set_source_files_properties(${pointwise} PROPERTIES COMPILE_OPTIONS -O2)
  # The core, then the weakest: where several objects hold the same inline function the linker keeps the first, and that
  # one must run on every machine.
  set(primary 1)
  foreach(isa IN LISTS known_isas)
    if(NOT isa IN_LIST FLAMBEAU_ISAS)
      continue()
    endif()
    string(TOUPPER ${isa} upper)
    target_compile_definitions(core PRIVATE FL_HAS_${upper}=1)
    if(sources)
      add_library(kernels_${isa} OBJECT ${sources})
      target_link_libraries(kernels_${isa} PRIVATE flambeau_options)
      target_compile_definitions(kernels_${isa} PRIVATE FL_ISA=${isa} FL_ISA_${upper}=1 FL_PRIMARY=${primary})
      # The first also declares the ops; the others only add faster loops.
      set(primary 0)
      target_compile_options(kernels_${isa} PRIVATE ${isa_flags_${isa}})
      target_sources(${target} PRIVATE $<TARGET_OBJECTS:kernels_${isa}>)
    endif()
  endforeach()
endfunction()
