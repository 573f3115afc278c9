#undef HONE_LANES
#define HONE_LANES 8
__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void tile(__global uchar* m0, ulong o0, __global uchar* m1, ulong o1, __global uchar* m2, ulong o2) {
  __global const hone_f32* a_0 = (__global const hone_f32*)(m0 + o0);
  __global const hone_f32* b_1 = (__global const hone_f32*)(m1 + o1);
  __global hone_f32* c_2 = (__global hone_f32*)(m2 + o2);
  {
    const hone_i64 t_0 = (hone_i64)get_group_id(0);
    if ((hone_u64)t_0 < (hone_u64)4) {
      hone_f32 acc_3[32] __attribute__((aligned(64)));
      {
        hone_store_f32v_own(acc_3, hone_splat_f32v(0.0f));
      }
      {
        hone_store_f32v_own(acc_3 + 8, hone_splat_f32v(0.0f));
      }
      {
        hone_store_f32v_own(acc_3 + 16, hone_splat_f32v(0.0f));
      }
      {
        hone_store_f32v_own(acc_3 + 24, hone_splat_f32v(0.0f));
      }
      for (hone_i64 k_3 = 0; k_3 < 12; k_3++) {
        {
          const hone_f32 t11 = hone_load_f32(a_0 + (k_3 + (t_0 / 2) * 48));
          const hone_f32v t9 = hone_load_f32v(b_1 + (k_3 * 16 + (t_0 % 2) * 8));
          hone_store_f32v_own(acc_3, hone_fma_f32v(hone_splat_f32v(t11), t9, hone_load_f32v_own(acc_3)));
        }
        {
          const hone_f32 t17 = hone_load_f32(a_0 + (k_3 + (t_0 / 2) * 48 + 12));
          const hone_f32v t15 = hone_load_f32v(b_1 + (k_3 * 16 + (t_0 % 2) * 8));
          hone_store_f32v_own(acc_3 + 8, hone_fma_f32v(hone_splat_f32v(t17), t15, hone_load_f32v_own(acc_3 + 8)));
        }
        {
          const hone_f32 t23 = hone_load_f32(a_0 + (k_3 + (t_0 / 2) * 48 + 24));
          const hone_f32v t21 = hone_load_f32v(b_1 + (k_3 * 16 + (t_0 % 2) * 8));
          hone_store_f32v_own(acc_3 + 16, hone_fma_f32v(hone_splat_f32v(t23), t21, hone_load_f32v_own(acc_3 + 16)));
        }
        {
          const hone_f32 t29 = hone_load_f32(a_0 + (k_3 + (t_0 / 2) * 48 + 36));
          const hone_f32v t27 = hone_load_f32v(b_1 + (k_3 * 16 + (t_0 % 2) * 8));
          hone_store_f32v_own(acc_3 + 24, hone_fma_f32v(hone_splat_f32v(t29), t27, hone_load_f32v_own(acc_3 + 24)));
        }
      }
      {
        const hone_f32v t35 = hone_load_f32v_own(acc_3);
        const hone_f32v t36 = hone_relu_f32v(t35);
        hone_store_f32v(c_2 + ((t_0 / 2) * 64 + (t_0 % 2) * 8), t36);
      }
      {
        const hone_f32v t41 = hone_load_f32v_own(acc_3 + 8);
        const hone_f32v t42 = hone_relu_f32v(t41);
        hone_store_f32v(c_2 + ((t_0 / 2) * 64 + (t_0 % 2) * 8 + 16), t42);
      }
      {
        const hone_f32v t47 = hone_load_f32v_own(acc_3 + 16);
        const hone_f32v t48 = hone_relu_f32v(t47);
        hone_store_f32v(c_2 + ((t_0 / 2) * 64 + (t_0 % 2) * 8 + 32), t48);
      }
      {
        const hone_f32v t53 = hone_load_f32v_own(acc_3 + 24);
        const hone_f32v t54 = hone_relu_f32v(t53);
        hone_store_f32v(c_2 + ((t_0 / 2) * 64 + (t_0 % 2) * 8 + 48), t54);
      }
    }
  }
}
