#undef HONE_LANES
#define HONE_LANES 1
__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void lookup(__global uchar* m0, ulong o0, __global uchar* m1, ulong o1, __global uchar* m2, ulong o2, __global uchar* m3, ulong o3, __global uchar* m4, ulong o4, hone_i64 n_0) {
  __global const hone_i32* x_0 = (__global const hone_i32*)(m0 + o0);
  __global const hone_i64* index_1 = (__global const hone_i64*)(m1 + o1);
  __global hone_i32* y_2 = (__global hone_i32*)(m2 + o2);
  __global hone_i32* last_3 = (__global hone_i32*)(m3 + o3);
  __global hone_i64* status_4 = (__global hone_i64*)(m4 + o4);
  {
    const hone_i64 i_1 = (hone_i64)get_group_id(0);
    if ((hone_u64)i_1 < (hone_u64)n_0) {
      hone_bool c1;
      {
        const hone_i64 t1 = hone_load_i64(index_1 + i_1);
        const hone_bool t3 = hone_lt_i64(t1, 5);
        c1 = t3;
      }
      if (!c1) {
        hone_store_i64(status_4, 1);
        return;
      }
      hone_i64 at_2;
      {
        const hone_i64 t1 = hone_load_i64(index_1 + i_1);
        const hone_i64 t5 = hone_min_i64(t1, 4);
        const hone_i64 t7 = hone_max_i64(t5, 0);
        at_2 = t7;
      }
      for (hone_i64 j_3 = 0; j_3 < 3; j_3++) {
        {
          const hone_i32 t8 = hone_load_i32(x_0 + (at_2 * 3 + j_3));
          const hone_i32 t10 = hone_rem_i32(t8, 3);
          hone_store_i32(y_2 + (i_1 * 3 + j_3), t10);
        }
      }
    }
  }
  if (get_group_id(0) == 0) {
    {
      hone_store_i32(last_3, hone_add_i32(hone_load_i32(last_3), 4));
    }
  }
  {
    const hone_i64 t_4 = (hone_i64)get_group_id(0) - n_0;
    if ((hone_u64)t_4 < (hone_u64)2) {
      {
        const hone_i32 t12 = hone_load_i32(x_0 + (t_4 + 12));
        hone_store_i32(last_3 + (t_4 + 1), t12);
      }
    }
  }
}
