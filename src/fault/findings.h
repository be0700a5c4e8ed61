// Findings of the software GPU's --check, in reports.
#pragma once

#include <string>

#include "fault/code.h"
#include "fault/report.h"
#include "wire/board.h"

namespace sonde::fault {

// Whether the program continues after it: races and uninitialised reads.
bool goes_on(const CheckFinding& finding);

// Adds a wave's finding to a report: the address and, for a race, the other instruction.
void show_finding(const Wave& wave, CodeObjects& code, FaultReport& report);

// "lane 3 of wave 1 stores 4 bytes at 0x7f00"; `whose`: "kernel k", or "".
std::string access_text(const CheckFinding& finding, const std::string& whose = "");

// The checked dispatch, launched before that time; nullptr if it is no longer on the board.
const wire::BoardDispatch* dispatch_of(const wire::Board& board, const CheckFinding& finding,
                                       int64_t time_ns);

// Decodes hexadecimal digits; returns the number of bytes.
uint32_t bytes_of(const std::string& digits, char* to, size_t most);

// Fills in cause and evidence of a report with a finding. `kernel` and `buffer` are "kernel k" and
// "the buffer of ..."; "" if no allocation is near.
void finding_cause(FaultReport& report, const std::string& kernel, const std::string& buffer);

}  // namespace sonde::fault
