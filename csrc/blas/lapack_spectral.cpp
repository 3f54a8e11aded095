// Eigenvalues, singular values and the least squares built on them. Their complex forms take an extra real workspace,
// which the real forms lack.
#include <algorithm>

#include "blas/lapack.h"
#include "blas/lapack_call.h"

namespace fl::blas {

template <class T>
int syevd(char jobz, char uplo, int n, T* a, int lda, Real<T>* values) {
  static void* const function = lapack_routine<T>("syevd", "heevd");
  const auto call = [&](T* work, int size, Real<T>* real_work, int real_size, int* int_work, int int_size) {
    if constexpr (is_complex<T>) {
      return call_lapack(function, jobz, uplo, n, a, lda, values, work, size, real_work, real_size, int_work, int_size);
    } else {
      return call_lapack(function, jobz, uplo, n, a, lda, values, work, size, int_work, int_size);
    }
  };
  T size(0);
  Real<T> real_size(0);
  int int_size = 0;
  if (const int info = call(&size, -1, &real_size, -1, &int_size, -1); info != 0) return info;
  const int count = queried_size(size), real_count = queried_size(real_size);
  const auto work = workspace<T>(count);
  const auto real_work = workspace<Real<T>>(is_complex<T> ? real_count : 1);
  const auto int_work = workspace<int>(int_size);
  return call(work.get(), count, real_work.get(), real_count, int_work.get(), std::max(int_size, 1));
}

namespace {

// For a real matrix LAPACK stores the vectors of a conjugate pair as two real columns: the real and the imaginary part
// of the first.
template <class R>
void unpack_pairs(int n, const R* imaginary, const R* packed, std::complex<R>* vectors, int ldv) {
  for (int j = 0; j < n; ++j) {
    const R* column = packed + static_cast<int64_t>(j) * n;
    std::complex<R>* out = vectors + static_cast<int64_t>(j) * ldv;
    if (imaginary[j] == 0 || j + 1 == n) {
      for (int i = 0; i < n; ++i) out[i] = column[i];
      continue;
    }
    for (int i = 0; i < n; ++i) {
      out[i] = {column[i], column[i + n]};
      out[i + ldv] = std::conj(out[i]);
    }
    ++j;
  }
}

}  // namespace

template <class T>
int geev(int n, T* a, int lda, std::complex<Real<T>>* values, std::complex<Real<T>>* vectors, int ldv) {
  using R = Real<T>;
  static void* const function = lapack_routine<T>("geev");
  const char left = 'N', right = vectors == nullptr ? 'N' : 'V';
  T unused(0);
  const int ld_left = 1;
  if constexpr (is_complex<T>) {
    const auto real_work = workspace<R>(2ll * n);
    T* right_vectors = vectors == nullptr ? &unused : vectors;
    const int ld_right = vectors == nullptr ? 1 : ldv;
    return with_workspace<T>([&](T* work, int size) {
      return call_lapack(function, left, right, n, a, lda, values, &unused, ld_left, right_vectors, ld_right, work,
                         size, real_work.get());
    });
  } else {
    const auto real = workspace<R>(n), imaginary = workspace<R>(n);
    const auto packed = workspace<R>(vectors == nullptr ? 1 : static_cast<int64_t>(n) * n);
    const int ld_right = std::max(n, 1);
    const int info = with_workspace<T>([&](T* work, int size) {
      return call_lapack(function, left, right, n, a, lda, real.get(), imaginary.get(), &unused, ld_left, packed.get(),
                         ld_right, work, size);
    });
    for (int i = 0; i < n; ++i) values[i] = {real[i], imaginary[i]};
    if (vectors != nullptr && info == 0) unpack_pairs<R>(n, imaginary.get(), packed.get(), vectors, ldv);
    return info;
  }
}

template <class T>
int gesdd(char jobz, int m, int n, T* a, int lda, Real<T>* s, T* u, int ldu, T* vt, int ldvt) {
  static void* const function = lapack_routine<T>("gesdd");
  const int64_t small = std::min(m, n), large = std::max(m, n);
  const auto int_work = workspace<int>(8 * small);
  if constexpr (is_complex<T>) {
    const int64_t real_size = jobz == 'N' ? 7 * small : small * std::max(5 * small + 7, 2 * large + 2 * small + 1);
    const auto real_work = workspace<Real<T>>(real_size);
    return with_workspace<T>([&](T* work, int size) {
      return call_lapack(function, jobz, m, n, a, lda, s, u, ldu, vt, ldvt, work, size, real_work.get(),
                         int_work.get());
    });
  } else {
    return with_workspace<T>([&](T* work, int size) {
      return call_lapack(function, jobz, m, n, a, lda, s, u, ldu, vt, ldvt, work, size, int_work.get());
    });
  }
}

template <class T>
int gesvd(char jobu, char jobvt, int m, int n, T* a, int lda, Real<T>* s, T* u, int ldu, T* vt, int ldvt) {
  static void* const function = lapack_routine<T>("gesvd");
  if constexpr (is_complex<T>) {
    const auto real_work = workspace<Real<T>>(5ll * std::min(m, n));
    return with_workspace<T>([&](T* work, int size) {
      return call_lapack(function, jobu, jobvt, m, n, a, lda, s, u, ldu, vt, ldvt, work, size, real_work.get());
    });
  } else {
    return with_workspace<T>([&](T* work, int size) {
      return call_lapack(function, jobu, jobvt, m, n, a, lda, s, u, ldu, vt, ldvt, work, size);
    });
  }
}

template <class T>
int gelsd(int m, int n, int columns, T* a, int lda, T* b, int ldb, Real<T>* s, Real<T> rcond, int* rank) {
  static void* const function = lapack_routine<T>("gelsd");
  const auto call = [&](T* work, int size, Real<T>* real_work, int* int_work) {
    if constexpr (is_complex<T>) {
      return call_lapack(function, m, n, columns, a, lda, b, ldb, s, rcond, rank, work, size, real_work, int_work);
    } else {
      return call_lapack(function, m, n, columns, a, lda, b, ldb, s, rcond, rank, work, size, int_work);
    }
  };
  T answer(0);
  Real<T> real_size(0);
  int int_size = 0;
  if (const int info = call(&answer, -1, &real_size, &int_size); info != 0) return info;
  const int size = queried_size(answer);
  const auto work = workspace<T>(size);
  const auto real_work = workspace<Real<T>>(is_complex<T> ? queried_size(real_size) : 1);
  const auto int_work = workspace<int>(int_size);
  return call(work.get(), size, real_work.get(), int_work.get());
}

template <class T>
int gelss(int m, int n, int columns, T* a, int lda, T* b, int ldb, Real<T>* s, Real<T> rcond, int* rank) {
  static void* const function = lapack_routine<T>("gelss");
  if constexpr (is_complex<T>) {
    const auto real_work = workspace<Real<T>>(5ll * std::min(m, n));
    return with_workspace<T>([&](T* work, int size) {
      return call_lapack(function, m, n, columns, a, lda, b, ldb, s, rcond, rank, work, size, real_work.get());
    });
  } else {
    return with_workspace<T>([&](T* work, int size) {
      return call_lapack(function, m, n, columns, a, lda, b, ldb, s, rcond, rank, work, size);
    });
  }
}

template <class T>
int gelsy(int m, int n, int columns, T* a, int lda, T* b, int ldb, int* pivots, Real<T> rcond, int* rank) {
  static void* const function = lapack_routine<T>("gelsy");
  if constexpr (is_complex<T>) {
    const auto real_work = workspace<Real<T>>(2ll * n);
    return with_workspace<T>([&](T* work, int size) {
      return call_lapack(function, m, n, columns, a, lda, b, ldb, pivots, rcond, rank, work, size, real_work.get());
    });
  } else {
    return with_workspace<T>([&](T* work, int size) {
      return call_lapack(function, m, n, columns, a, lda, b, ldb, pivots, rcond, rank, work, size);
    });
  }
}

#define FL_INSTANTIATE(T)                                                               \
  template int syevd(char, char, int, T*, int, Real<T>*);                               \
  template int geev(int, T*, int, std::complex<Real<T>>*, std::complex<Real<T>>*, int); \
  template int gesdd(char, int, int, T*, int, Real<T>*, T*, int, T*, int);              \
  template int gesvd(char, char, int, int, T*, int, Real<T>*, T*, int, T*, int);        \
  template int gelsd(int, int, int, T*, int, T*, int, Real<T>*, Real<T>, int*);         \
  template int gelss(int, int, int, T*, int, T*, int, Real<T>*, Real<T>, int*);         \
  template int gelsy(int, int, int, T*, int, T*, int, int*, Real<T>, int*);
FL_INSTANTIATE(float)
FL_INSTANTIATE(double)
FL_INSTANTIATE(std::complex<float>)
FL_INSTANTIATE(std::complex<double>)
#undef FL_INSTANTIATE

}  // namespace fl::blas
