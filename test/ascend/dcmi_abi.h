// SPDX-License-Identifier: Apache-2.0
// The fake libdcmi.so's own view of DCMI's C interface, apart from the product's (dcmi.h), so that
// a wrong layout on one side fails a test.
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct dcmi_chip_info_v2 {
  unsigned char chip_type[32];
  unsigned char chip_name[32];
  unsigned char chip_ver[32];
  unsigned int aicore_cnt;
  unsigned char npu_name[32];
};

struct dcmi_pcie_info_all {
  unsigned int venderid, subvenderid, deviceid, subdeviceid;
  int domain;
  unsigned int bdf_busid, bdf_deviceid, bdf_funcid;
  unsigned char reserve[32];
};

struct dcmi_die_id {
  unsigned int soc_die[5];
};

struct dcmi_hbm_info {
  unsigned long long memory_size;
  unsigned int freq;
  unsigned long long memory_usage;
  int temp;
  unsigned int bandwith_util_rate;
};

struct dcmi_memory_info {
  unsigned long long memory_size;
  unsigned long long memory_available;
  unsigned int freq;
  unsigned long long hugepagesize, hugepages_total, hugepages_free;
  unsigned int utiliza;
  unsigned char reserve[60];
};

struct dcmi_base_resource {
  unsigned long long token, token_max, task_timeout;
  unsigned int vfg_id;
  unsigned char vip_mode;
  unsigned char reserved[31];
};

struct dcmi_computing_resource {
  float aic, aiv;
  unsigned short dsa, rtsq, acsq, cdqm, c_core, ffts, sdma, pcie_dma;
  unsigned long long memory_size;
  unsigned int event_id, notify_id, stream_id, model_id;
  unsigned short topic_schedule_aicpu, host_ctrl_cpu, host_aicpu, device_aicpu, topic_ctrl_cpu_slot;
  unsigned int vdev_aicore_utilization;
  unsigned long long vdev_memory_total, vdev_memory_free;
  unsigned char reserved[12];
};

struct dcmi_media_resource {
  float jpegd, jpege, vpc, vdec, pngd, venc;
  unsigned char reserved[32];
};

struct dcmi_create_vdev_res_stru {
  unsigned int vdev_id, vfg_id;
  char template_name[32];
  unsigned char reserved[64];
};

struct dcmi_create_vdev_out {
  unsigned int vdev_id, pcie_bus, pcie_device, pcie_func, vfg_id;
  unsigned char reserved[32];
};

struct dcmi_vdev_query_stru {
  unsigned int vdev_id;
  struct {
    char name[16];
    unsigned int status, is_container_used, vfid, vfg_id;
    unsigned long long container_id;
    struct dcmi_base_resource base;
    struct dcmi_computing_resource computing;
    struct dcmi_media_resource media;
  } info;
};

struct dcmi_soc_total_resource {
  unsigned int vdev_num;
  unsigned int vdev_id[32];
  unsigned int vfg_num, vfg_bitmap;
  struct dcmi_base_resource base;
  struct dcmi_computing_resource computing;
  struct dcmi_media_resource media;
};

struct dcmi_event_filter {
  unsigned long long filter_flag;
  unsigned int event_id;
  unsigned char severity, node_type;
  unsigned char reserved[32];
};

struct dcmi_event {
  int type;
  union {
    struct {
      unsigned int event_id;
      unsigned short deviceid;
      unsigned char node_type, node_id, sub_node_type, sub_node_id, severity, assertion;
      int event_serial_num, notify_serial_num;
      unsigned long long alarm_raised_time;
      char event_name[256];
      char additional_info[32];
      unsigned char reserved[32];
    } dms_event;
  } event_t;
};

typedef void (*dcmi_fault_event_callback)(struct dcmi_event* event);

#ifdef __cplusplus
}
#endif
