# The driver-level capture. Needs no header and no library of NVIDIA's: everything of theirs is found while running.
set(VT_AGENT_CUPTI_SOURCES
  activity.c
  activity_buffers.c
  activity_share.c
  cuda_driver.c
  cupti.c
  cupti_broker.c
  cupti_decode.c
  cupti_load.c
  cupti_memory.c
  cupti_pool.c
  cupti_work.c
  device.c
  device_pages.c
  launch.c
  nvml.c
  param_layout.c)
