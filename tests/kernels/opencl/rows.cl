#undef HONE_LANES
#define HONE_LANES 8
__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void rows(__global uchar* m0, ulong o0, __global uchar* m1, ulong o1, hone_i64 n_0) {
  __global const hone_f32* x_0 = (__global const hone_f32*)(m0 + o0);
  __global hone_f32* y_1 = (__global hone_f32*)(m1 + o1);
  {
    const hone_i64 i_1 = (hone_i64)get_group_id(0);
    if ((hone_u64)i_1 < (hone_u64)n_0) {
      hone_f32 row_2[20] __attribute__((aligned(64)));
      hone_f32 most_3[1] __attribute__((aligned(64)));
      hone_f32 sum_4[8] __attribute__((aligned(64)));
      {
        hone_store_f32(most_3, -HONE_INF);
      }
      for (hone_i64 k_2 = 0; k_2 < 20; k_2++) {
        {
          const hone_f32 t2 = hone_load_f32(x_0 + (i_1 * 20 + k_2));
          hone_store_f32(most_3, hone_max_f32(hone_load_f32(most_3), t2));
        }
      }
      {
        hone_store_f32v_own(sum_4, hone_splat_f32v(0.0f));
      }
      for (hone_i64 jo_4 = 0; jo_4 < 2; jo_4++) {
        {
          const hone_f32v t4 = hone_load_f32v(x_0 + (i_1 * 20 + jo_4 * 8));
          const hone_f32 t5 = hone_load_f32(most_3);
          const hone_f32v t6 = hone_sub_f32v(t4, hone_splat_f32v(t5));
          const hone_f32v t7 = hone_exp_f32v(t6);
          hone_store_f32v(row_2 + (jo_4 * 8), t7);
        }
        {
          const hone_f32v t8 = hone_load_f32v(row_2 + (jo_4 * 8));
          hone_store_f32v_own(sum_4, hone_add_f32v(hone_load_f32v_own(sum_4), t8));
        }
      }
      for (hone_i64 t_6 = 0; t_6 < 4; t_6++) {
        {
          const hone_f32 t9 = hone_load_f32(x_0 + (i_1 * 20 + t_6 + 16));
          const hone_f32 t5 = hone_load_f32(most_3);
          const hone_f32 t10 = hone_sub_f32(t9, t5);
          const hone_f32 t11 = hone_exp_f32(t10);
          hone_store_f32(row_2 + (t_6 + 16), t11);
        }
        {
          const hone_f32 t12 = hone_load_f32(row_2 + (t_6 + 16));
          hone_store_f32(sum_4, hone_add_f32(hone_load_f32(sum_4), t12));
        }
      }
      {
        hone_store_f32(most_3, 0.0f);
      }
      {
        const hone_f32v t13 = hone_load_f32v_own(sum_4);
        hone_store_f32(most_3, hone_add_f32(hone_load_f32(most_3), hone_reduce_add_f32v(t13)));
      }
      for (hone_i64 o_8 = 0; o_8 < 20; o_8++) {
        {
          const hone_f32 t14 = hone_load_f32(row_2 + o_8);
          const hone_f32 t5 = hone_load_f32(most_3);
          const hone_f32 t15 = hone_div_f32(t14, t5);
          hone_store_f32(y_1 + (i_1 * 20 + o_8), t15);
        }
      }
    }
  }
}
