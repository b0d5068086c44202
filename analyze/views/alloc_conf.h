/* alloc_conf.h - reads PYTORCH_CUDA_ALLOC_CONF, as far as the reports need it: "a:1,expandable_segments:True,b:2". */
#ifndef VT_ANALYZE_ALLOC_CONF_H
#define VT_ANALYZE_ALLOC_CONF_H

#include <stdbool.h>
#include <stdint.h>

/* conf may be NULL. */
bool vt_alloc_conf_expandable(const char *conf);
/* large_segment_size_mb in bytes; 0: not set. */
uint64_t vt_alloc_conf_large_segment(const char *conf);

#endif
