// Factorizations and the solvers that use them.
#include "blas/lapack.h"

#include "blas/lapack_call.h"

namespace fl::blas {
namespace {

template <class T>
constexpr char kAdjoint = is_complex<T> ? 'C' : 'T';

}  // namespace

template <class T>
int getrf(int m, int n, T* a, int lda, int* pivots) {
  static void* const function = lapack_routine<T>("getrf");
  return call_lapack(function, m, n, a, lda, pivots);
}

template <class T>
int getrs(char trans, int n, int columns, const T* lu, int lda, const int* pivots, T* b, int ldb) {
  static void* const function = lapack_routine<T>("getrs");
  return call_lapack(function, trans, n, columns, lu, lda, pivots, b, ldb);
}

template <class T>
int getri(int n, T* lu, int lda, const int* pivots) {
  static void* const function = lapack_routine<T>("getri");
  return with_workspace<T>([&](T* work, int size) { return call_lapack(function, n, lu, lda, pivots, work, size); });
}

template <class T>
int potrf(char uplo, int n, T* a, int lda) {
  static void* const function = lapack_routine<T>("potrf");
  return call_lapack(function, uplo, n, a, lda);
}

template <class T>
int potrs(char uplo, int n, int columns, const T* factor, int lda, T* b, int ldb) {
  static void* const function = lapack_routine<T>("potrs");
  return call_lapack(function, uplo, n, columns, factor, lda, b, ldb);
}

template <class T>
int potri(char uplo, int n, T* factor, int lda) {
  static void* const function = lapack_routine<T>("potri");
  return call_lapack(function, uplo, n, factor, lda);
}

template <class T>
int geqrf(int m, int n, T* a, int lda, T* tau) {
  static void* const function = lapack_routine<T>("geqrf");
  return with_workspace<T>([&](T* work, int size) { return call_lapack(function, m, n, a, lda, tau, work, size); });
}

template <class T>
int orgqr(int m, int n, int k, T* a, int lda, const T* tau) {
  static void* const function = lapack_routine<T>("orgqr", "ungqr");
  return with_workspace<T>([&](T* work, int size) { return call_lapack(function, m, n, k, a, lda, tau, work, size); });
}

template <class T>
int ormqr(char side, bool adjoint, int m, int n, int k, const T* a, int lda, const T* tau, T* c, int ldc) {
  static void* const function = lapack_routine<T>("ormqr", "unmqr");
  const char trans = adjoint ? kAdjoint<T> : 'N';
  return with_workspace<T>(
      [&](T* work, int size) { return call_lapack(function, side, trans, m, n, k, a, lda, tau, c, ldc, work, size); });
}

template <class T>
int trtrs(char uplo, char trans, char diag, int n, int columns, const T* a, int lda, T* b, int ldb) {
  static void* const function = lapack_routine<T>("trtrs");
  return call_lapack(function, uplo, trans, diag, n, columns, a, lda, b, ldb);
}

template <class T>
int trtri(char uplo, char diag, int n, T* a, int lda) {
  static void* const function = lapack_routine<T>("trtri");
  return call_lapack(function, uplo, diag, n, a, lda);
}

template <class T>
void trsm(char side, char uplo, char trans, char diag, int m, int n, const T* a, int lda, T* b, int ldb) {
  static void* const function = lapack_routine<T>("trsm");
  const T one(1);
  using Function = void(const char*, const char*, const char*, const char*, const int*, const int*, const T*, const T*,
                        const int*, T*, const int*, size_t, size_t, size_t, size_t);
  reinterpret_cast<Function*>(function)(&side, &uplo, &trans, &diag, &m, &n, &one, a, &lda, b, &ldb, 1, 1, 1, 1);
}

template <class T>
int sytrf(char uplo, int n, T* a, int lda, int* pivots) {
  static void* const function = lapack_routine<T>("sytrf");
  return with_workspace<T>(
      [&](T* work, int size) { return call_lapack(function, uplo, n, a, lda, pivots, work, size); });
}

template <class T>
int sytrs(char uplo, int n, int columns, const T* factor, int lda, const int* pivots, T* b, int ldb) {
  static void* const function = lapack_routine<T>("sytrs");
  return call_lapack(function, uplo, n, columns, factor, lda, pivots, b, ldb);
}

template <class T>
int hetrf(char uplo, int n, T* a, int lda, int* pivots) {
  static void* const function = lapack_routine<T>("sytrf", "hetrf");
  return with_workspace<T>(
      [&](T* work, int size) { return call_lapack(function, uplo, n, a, lda, pivots, work, size); });
}

template <class T>
int hetrs(char uplo, int n, int columns, const T* factor, int lda, const int* pivots, T* b, int ldb) {
  static void* const function = lapack_routine<T>("sytrs", "hetrs");
  return call_lapack(function, uplo, n, columns, factor, lda, pivots, b, ldb);
}

template <class T>
int gels(bool adjoint, int m, int n, int columns, T* a, int lda, T* b, int ldb) {
  static void* const function = lapack_routine<T>("gels");
  const char trans = adjoint ? kAdjoint<T> : 'N';
  return with_workspace<T>(
      [&](T* work, int size) { return call_lapack(function, trans, m, n, columns, a, lda, b, ldb, work, size); });
}

#define FL_INSTANTIATE(T)                                                          \
  template int getrf(int, int, T*, int, int*);                                     \
  template int getrs(char, int, int, const T*, int, const int*, T*, int);          \
  template int getri(int, T*, int, const int*);                                    \
  template int potrf(char, int, T*, int);                                          \
  template int potrs(char, int, int, const T*, int, T*, int);                      \
  template int potri(char, int, T*, int);                                          \
  template int geqrf(int, int, T*, int, T*);                                       \
  template int orgqr(int, int, int, T*, int, const T*);                            \
  template int ormqr(char, bool, int, int, int, const T*, int, const T*, T*, int); \
  template int trtrs(char, char, char, int, int, const T*, int, T*, int);          \
  template int trtri(char, char, int, T*, int);                                    \
  template void trsm(char, char, char, char, int, int, const T*, int, T*, int);    \
  template int sytrf(char, int, T*, int, int*);                                    \
  template int sytrs(char, int, int, const T*, int, const int*, T*, int);          \
  template int hetrf(char, int, T*, int, int*);                                    \
  template int hetrs(char, int, int, const T*, int, const int*, T*, int);          \
  template int gels(bool, int, int, int, T*, int, T*, int);
FL_INSTANTIATE(float)
FL_INSTANTIATE(double)
FL_INSTANTIATE(std::complex<float>)
FL_INSTANTIATE(std::complex<double>)
#undef FL_INSTANTIATE

}  // namespace fl::blas
