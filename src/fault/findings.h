// What the software GPU's --check found, told in a report.
#pragma once

#include <string>

#include "fault/code.h"
#include "fault/report.h"
#include "wire/board.h"

namespace sonde::fault {

// Whether the program goes on after it: races and reads of what nobody wrote.
bool goes_on(const CheckFinding& finding);

// Takes what a wave found into a report of it: the address, and of a race the other instruction.
void show_finding(const Wave& wave, CodeObjects& code, FaultReport& report);

// "lane 3 of wave 1 stores 4 bytes at 0x7f00"; `whose`: "kernel k", or "".
std::string access_text(const CheckFinding& finding, const std::string& whose = "");

// The dispatch that was checked, launched before that time; nullptr where the board has it no more.
const wire::BoardDispatch* dispatch_of(const wire::Board& board, const CheckFinding& finding,
                                       int64_t time_ns);

// The bytes that hexadecimal digits stand for; how many fit.
uint32_t bytes_of(const std::string& digits, char* to, size_t most);

// Fills cause and evidence of a report that has a finding. `kernel` and `buffer` are "kernel k" and
// "the buffer of ..."; "" where no allocation is near.
void finding_cause(FaultReport& report, const std::string& kernel, const std::string& buffer);

}  // namespace sonde::fault
