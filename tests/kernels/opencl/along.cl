#undef HONE_LANES
#define HONE_LANES 8
__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void along(__global uchar* m0, ulong o0, __global uchar* m1, ulong o1, __global uchar* m2, ulong o2, __global uchar* m3, ulong o3) {
  __global const hone_f32* a_0 = (__global const hone_f32*)(m0 + o0);
  __global hone_f32* b_1 = (__global hone_f32*)(m1 + o1);
  __global hone_f32* c_2 = (__global hone_f32*)(m2 + o2);
  __global hone_f32* d_3 = (__global hone_f32*)(m3 + o3);
  {
    const hone_i64 i_0 = (hone_i64)get_group_id(0) - 2;
    if ((hone_u64)i_0 < (hone_u64)24) {
      {
        const hone_f32v t1 = hone_load_f32v(a_0 + (i_0 * 8));
        const hone_f32v t2 = hone_neg_f32v(t1);
        hone_store_f32v(b_1 + (i_0 * 8), t2);
      }
    }
  }
  {
    const hone_i64 turn = (hone_i64)get_group_id(0) - 2;
    if (turn >= 0) {
      for (hone_i64 j_2 = turn * 10 / 24; j_2 < (turn + 1) * 10 / 24; j_2++) {
        for (hone_i64 y_3 = 0; y_3 < 3; y_3++) {
          {
            const hone_f32 t3 = hone_load_f32(a_0 + (j_2 * 8 + y_3));
            const hone_f32 t4 = hone_mul_f32(t3, t3);
            hone_store_f32(c_2 + (j_2 * 3 + y_3), t4);
          }
        }
      }
    }
  }
  {
    const hone_i64 k_4 = (hone_i64)get_group_id(0);
    if ((hone_u64)k_4 < (hone_u64)2) {
      for (hone_i64 z_5 = 0; z_5 < 5; z_5++) {
        {
          const hone_f32 t5 = hone_load_f32(a_0 + (k_4 * 8 + z_5));
          const hone_f32 t7 = hone_add_f32(t5, 1.0f);
          hone_store_f32(d_3 + (k_4 * 5 + z_5), t7);
        }
      }
    }
  }
}
