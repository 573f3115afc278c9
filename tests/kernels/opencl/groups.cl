#undef HONE_LANES
#define HONE_LANES 1
__kernel __attribute__((reqd_work_group_size(4, 1, 1)))
void groups(__global uchar* m0, ulong o0, __global uchar* m1, ulong o1, __global uchar* m2, ulong o2, hone_i64 n_0) {
  __global const hone_f32* x_0 = (__global const hone_f32*)(m0 + o0);
  __global const hone_u16* h_1 = (__global const hone_u16*)(m1 + o1);
  __global hone_f32* y_2 = (__global hone_f32*)(m2 + o2);
  __local hone_f32 part_3[4];
  {
    const hone_i64 g_1 = (hone_i64)get_group_id(0) % n_0;
    {
      const hone_i64 item = get_local_id(0);
      const hone_i64 t_2 = item % 4;
      {
        hone_store_f32(part_3 + t_2, 0.0f);
      }
      for (hone_i64 k_3 = 0; k_3 < 4; k_3++) {
        {
          const hone_f32 t2 = hone_load_f32(x_0 + (g_1 * 16 + t_2 * 4 + k_3));
          const hone_f32 t3 = hone_load_f16(h_1 + (t_2 * 4 + k_3));
          const hone_f32 t4 = hone_cast_f32_f32(t3);
          hone_store_f32(part_3 + t_2, hone_fma_f32(t2, t4, hone_load_f32(part_3 + t_2)));
        }
      }
      barrier(CLK_LOCAL_MEM_FENCE);
      hone_bool c3;
      {
        const hone_bool t8 = hone_lt_i64(t_2, 1);
        c3 = t8;
      }
      if (c3) {
        {
          hone_store_f32(y_2 + g_1, 0.0f);
        }
        for (hone_i64 s_4 = 0; s_4 < 4; s_4++) {
          {
            const hone_f32 t9 = hone_load_f32(part_3 + s_4);
            hone_store_f32(y_2 + g_1, hone_add_f32(hone_load_f32(y_2 + g_1), t9));
          }
        }
      }
    }
  }
}
