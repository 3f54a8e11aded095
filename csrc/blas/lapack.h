// LAPACK as overloads by type: T is float, double or std::complex of these, R the matching real type.
//
// Matrices are stored by columns, as LAPACK wants them: a[i + j * lda]. Workspace is found by the wrapper. The result
// is LAPACK's `info`: 0 for success, positive for a numerical failure whose meaning depends on the routine (singular
// pivot, no convergence). Arguments are taken on trust: sizes not negative, leading dimensions at least max(1, rows).
// Calls are single-threaded and may run concurrently.
#pragma once

#include <complex>

namespace fl::blas {

template <class T>
struct RealOf {
  using type = T;
};
template <class T>
struct RealOf<std::complex<T>> {
  using type = T;
};
template <class T>
using Real = typename RealOf<T>::type;

// LU with row exchanges. Pivots count from 1. `trans`: 'N', 'T' or 'C'.
template <class T>
int getrf(int m, int n, T* a, int lda, int* pivots);
template <class T>
int getrs(char trans, int n, int columns, const T* lu, int lda, const int* pivots, T* b, int ldb);
template <class T>
int getri(int n, T* lu, int lda, const int* pivots);

// Cholesky of the triangle `uplo` ('U' or 'L'); potri gives that triangle of the inverse.
template <class T>
int potrf(char uplo, int n, T* a, int lda);
template <class T>
int potrs(char uplo, int n, int columns, const T* factor, int lda, T* b, int ldb);
template <class T>
int potri(char uplo, int n, T* factor, int lda);

// QR by reflectors. orgqr forms the first n columns of Q from k reflectors; ormqr applies Q (or its adjoint) to c from
// `side` 'L' or 'R'.
template <class T>
int geqrf(int m, int n, T* a, int lda, T* tau);
template <class T>
int orgqr(int m, int n, int k, T* a, int lda, const T* tau);
template <class T>
int ormqr(char side, bool adjoint, int m, int n, int k, const T* a, int lda, const T* tau, T* c, int ldc);

// Eigenvalues (ascending) of a symmetric or Hermitian matrix; `jobz` 'V' leaves the vectors in a, 'N' leaves rubbish
// there.
template <class T>
int syevd(char jobz, char uplo, int n, T* a, int lda, Real<T>* values);

// Eigenvalues of a general matrix, and unless null the right vectors, complex in either case. Destroys a.
template <class T>
int geev(int n, T* a, int lda, std::complex<Real<T>>* values, std::complex<Real<T>>* vectors, int ldv);

// Singular values (descending); jobz, jobu, jobvt: 'A', 'S' or 'N'. Destroy a.
template <class T>
int gesdd(char jobz, int m, int n, T* a, int lda, Real<T>* s, T* u, int ldu, T* vt, int ldvt);
template <class T>
int gesvd(char jobu, char jobvt, int m, int n, T* a, int lda, Real<T>* s, T* u, int ldu, T* vt, int ldvt);

// Least squares. b has max(m, n) rows; the solution replaces its first n. gels wants full rank.
template <class T>
int gels(bool adjoint, int m, int n, int columns, T* a, int lda, T* b, int ldb);
template <class T>
int gelsd(int m, int n, int columns, T* a, int lda, T* b, int ldb, Real<T>* s, Real<T> rcond, int* rank);
template <class T>
int gelss(int m, int n, int columns, T* a, int lda, T* b, int ldb, Real<T>* s, Real<T> rcond, int* rank);
template <class T>
int gelsy(int m, int n, int columns, T* a, int lda, T* b, int ldb, int* pivots, Real<T> rcond, int* rank);

// Triangular systems; diag: 'U' if the diagonal is taken as ones, else 'N'. trtrs reports a zero on the diagonal, trsm
// does not look.
template <class T>
int trtrs(char uplo, char trans, char diag, int n, int columns, const T* a, int lda, T* b, int ldb);
// b (m, n) = inverse(op(a)) @ b for side 'L', b @ inverse(op(a)) for 'R'.
template <class T>
void trsm(char side, char uplo, char trans, char diag, int m, int n, const T* a, int lda, T* b, int ldb);
template <class T>
int trtri(char uplo, char diag, int n, T* a, int lda);

// L D L^T (sytrf) and L D L^H (hetrf), with 1 x 1 and 2 x 2 blocks marked in the pivots. For real T they are the same.
template <class T>
int sytrf(char uplo, int n, T* a, int lda, int* pivots);
template <class T>
int sytrs(char uplo, int n, int columns, const T* factor, int lda, const int* pivots, T* b, int ldb);
template <class T>
int hetrf(char uplo, int n, T* a, int lda, int* pivots);
template <class T>
int hetrs(char uplo, int n, int columns, const T* factor, int lda, const int* pivots, T* b, int ldb);

}  // namespace fl::blas
