#include "ir/sparse.h"

bool hone_sparse_is(const int8_t* numbers, int64_t count) {
  const int64_t most = count / HONE_SPARSE_SHARE;
  int64_t found = 0;
  for (int64_t i = 0; i < count && found <= most; i++) found += numbers[i] != 0;
  return found <= most;
}
