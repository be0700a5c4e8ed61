// The tables of a rocpd database (rocprofv3's SQLite output, schema version 3): their names,
// columns and the views that rocpd's users query. Every table carries the guid of the recording in
// its name; plain views hide that.
#pragma once

#include <string>

namespace sonde::exporting {

// `guid` as "0199f0aa-1111-7222-8333-444455556666". The text creates everything and fills
// rocpd_metadata.
std::string rocpd_schema_sql(const std::string& guid);

// The name of `table` ("rocpd_event") in the database of `guid`, quoted.
std::string rocpd_table(const std::string& table, const std::string& guid);

}  // namespace sonde::exporting
