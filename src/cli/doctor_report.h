// What doctor found, and how it is shown; apart from the finding, so that other hosts' answers can be tested.
#pragma once
#include <string>
#include <vector>

#include "hotcell/report.h"
#include "hotcell/result.h"
#include "sys/probe.h"

namespace hotcell {

struct LayerAdvice {
  LayerReport report;
  std::string advice;
};

struct DoctorReport {
  sys::Facts facts;
  bool ok = false;    // a default cell ran, and no layer that every cell should have was missing
  std::string error;  // why it did not run
  std::string backend;
  std::vector<LayerAdvice> layers;
};

DoctorReport make_doctor_report(sys::Facts facts, const Result<Report>& trial);
std::string doctor_text(const DoctorReport& report, bool colour);
std::string doctor_json(const DoctorReport& report);

}  // namespace hotcell
