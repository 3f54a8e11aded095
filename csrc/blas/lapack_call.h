// Calling LAPACK through its Fortran interface: scalars by address, and the length of each character argument behind
// the others.
#pragma once

#include <algorithm>
#include <complex>
#include <memory>
#include <string>
#include <type_traits>

#include "blas/cblas.h"
#include "blas/lapack.h"
#include "blas/library.h"
#include "blas/matrix.h"

namespace fl::blas {

template <class T>
const T* address(const T& value) {
  return &value;
}
template <class T>
T* address(T* pointer) {
  return pointer;
}

// Arguments given by value become pointers to const, pointers stay as they are. A LAPACK routine reads what it is not
// documented to write.
template <class... Arguments>
int call_lapack(void* function, const Arguments&... arguments) {
  int info = 0;
  constexpr int characters = (0 + ... + static_cast<int>(std::is_same_v<Arguments, char>));
  static_assert(characters <= 4);
  using Function = void(decltype(address(arguments))..., int*, size_t, size_t, size_t, size_t);
  // Lengths beyond those the routine expects are ignored: the caller removes them.
  reinterpret_cast<Function*>(function)(address(arguments)..., &info, 1, 1, 1, 1);
  return info;
}

// The routine of this name for T: letter, then `real` or, for complex T, `complex` if that differs.
template <class T>
void* lapack_routine(const char* real, const char* complex = nullptr) {
  return symbol(cblas::letter<T> + std::string(is_complex<T> && complex != nullptr ? complex : real) + "_");
}

template <class T>
std::unique_ptr<T[]> workspace(int64_t size) {
  return std::unique_ptr<T[]>(new T[std::max<int64_t>(size, 1)]);
}

// LAPACK answers a workspace query with a floating point number, which float may round down.
template <class T>
int queried_size(const T& answer) {
  const double size = static_cast<double>(std::real(answer));
  return static_cast<int>(std::min(size * (1 + 1e-6) + 1, 2147483647.0));
}

// Runs `call(work, size)` twice: as a query for the best size of the workspace, then with one of that size.
template <class T, class Call>
int with_workspace(Call&& call) {
  T answer(0);
  if (const int info = call(&answer, -1); info != 0) return info;
  const int size = queried_size(answer);
  const auto work = workspace<T>(size);
  return call(work.get(), size);
}

}  // namespace fl::blas
