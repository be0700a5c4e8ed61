// Panels of commands that are not analyses of the list: info, sol and roofline. Private to
// src/serve.
#pragma once

#include <string>

#include "base/result.h"
#include "report/report.h"
#include "serve/options.h"
#include "serve/panel.h"

namespace sonde::serve {

bool is_other_panel(const std::string& name);
// The report of the command. `choice` gets what it has of the choices of all panels.
Result<report::Report> other_report(const Source& source, const std::string& name, Taken& taken,
                                    Choice& choice);

}  // namespace sonde::serve
