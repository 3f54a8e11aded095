// OpenBLAS (BLAS and LAPACK), loaded when first needed: programs that never multiply large matrices don't pay for it.
#pragma once

#include <string>

namespace fl::blas {

// Where to look for the library, unless the environment variable FLAMBEAU_OPENBLAS names a file. Without either, it is
// looked for in the site-packages directory this extension is installed in. No effect once the library is loaded.
void set_library_path(const char* path);

// The address of a routine by its plain name ("cblas_dgemm", "dgetrf_"). Loads the library on first use; throws
// std::runtime_error if there is none or it lacks the routine.
void* symbol(const std::string& name);

template <class Function>
Function* routine(const std::string& name) {
  return reinterpret_cast<Function*>(symbol(name));
}

}  // namespace fl::blas
