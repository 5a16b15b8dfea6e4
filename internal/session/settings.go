package session

import (
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
)

// settingKind tells how a setting's text is checked and printed.
type settingKind uint8

const (
	boolSetting settingKind = iota
	intSetting
	textSetting
	enumSetting
	memorySetting   // kB without a unit
	durationSetting // ms without a unit
	internalSetting // cannot be changed
)

type setting struct {
	name    string // as SHOW prints it
	key     string // lower case
	kind    settingKind
	initial string
	enum    []string
	help    string
}

// settings lists what SET, SHOW and startup packets know, by lower-case name. Those that change nothing here exist because drivers set them.
var settings = map[string]*setting{}

// Reported are the settings that a PostgreSQL client is told of at start and whenever they change.
var Reported = []string{
	"application_name", "client_encoding", "DateStyle", "default_transaction_read_only", "in_hot_standby", "integer_datetimes",
	"IntervalStyle", "is_superuser", "server_encoding", "server_version", "session_authorization", "standard_conforming_strings", "TimeZone",
}

func init() {
	for _, s := range []setting{
		{name: "application_name", kind: textSetting, help: "name of the client program"},
		{name: "bytea_output", kind: enumSetting, initial: "hex", enum: []string{"hex"}, help: "output format for bytea"},
		{name: "client_encoding", kind: enumSetting, initial: "UTF8", enum: []string{"UTF8", "UTF-8", "UNICODE", "SQL_ASCII"}, help: "character set of the client"},
		{name: "client_min_messages", kind: enumSetting, initial: "notice", enum: []string{"debug5", "debug4", "debug3", "debug2", "debug1", "debug", "log", "notice", "warning", "error"}, help: "least severe message sent"},
		{name: "DateStyle", kind: textSetting, initial: "ISO, MDY", help: "format of dates; output is always ISO"},
		{name: "default_transaction_isolation", kind: enumSetting, initial: "read committed", enum: isolationNames, help: "isolation of new transactions"},
		{name: "default_transaction_read_only", kind: boolSetting, initial: "off", help: "new transactions are read only"},
		{name: "default_transaction_deferrable", kind: boolSetting, initial: "off", help: "accepted"},
		{name: "extra_float_digits", kind: intSetting, initial: "1", help: "accepted; output always round-trips"},
		{name: "idle_in_transaction_session_timeout", kind: durationSetting, initial: "0", help: "longest wait for the client within a transaction"},
		{name: "in_hot_standby", kind: internalSetting, initial: "off", help: "never"},
		{name: "integer_datetimes", kind: internalSetting, initial: "on", help: "always"},
		{name: "IntervalStyle", kind: enumSetting, initial: "postgres", enum: []string{"postgres", "postgres_verbose", "sql_standard", "iso_8601"}, help: "accepted; output is always postgres"},
		{name: "is_superuser", kind: internalSetting, initial: "on", help: "whether the user may do everything"},
		{name: "jit", kind: boolSetting, initial: "off", help: "accepted"},
		{name: "lock_timeout", kind: durationSetting, initial: "0", help: "longest wait for a lock"},
		{name: "max_identifier_length", kind: internalSetting, initial: "63", help: "bytes of an identifier"},
		{name: "max_index_keys", kind: internalSetting, initial: "32", help: "keys of an index"},
		{name: "row_security", kind: boolSetting, initial: "on", help: "accepted"},
		{name: "search_path", kind: textSetting, initial: `"$user", public`, help: "schemas searched; ag_catalog is always searched last"},
		{name: "server_encoding", kind: internalSetting, initial: "UTF8", help: "character set of the database"},
		{name: "server_version", kind: internalSetting, initial: "15.8 (Hedgerow)", help: "version of PostgreSQL whose catalog clients may expect"},
		{name: "server_version_num", kind: internalSetting, initial: "150008", help: "the same as a number"},
		{name: "session_authorization", kind: internalSetting, help: "the session's user"},
		{name: "standard_conforming_strings", kind: enumSetting, initial: "on", enum: []string{"on"}, help: "backslashes are ordinary in '…'"},
		{name: "statement_timeout", kind: durationSetting, initial: "0", help: "longest run of a statement"},
		{name: "synchronous_commit", kind: enumSetting, initial: "on", enum: []string{"on", "off", "local", "remote_write", "remote_apply"}, help: "off: commit does not wait for the log"},
		{name: "TimeZone", kind: textSetting, initial: "UTC", help: "time zone"},
		{name: "transaction_isolation", kind: enumSetting, initial: "read committed", enum: isolationNames, help: "isolation of this transaction"},
		{name: "transaction_timeout", kind: durationSetting, initial: "0", help: "longest run of a transaction"},
		{name: "transaction_read_only", kind: boolSetting, initial: "off", help: "this transaction is read only"},
		{name: "work_mem", kind: memorySetting, initial: "16384", help: "memory of a sort, hash table or spool before it goes to disk"},
		{name: "hedgerow.graph", kind: textSetting, initial: "main", help: "graph of Cypher statements that name none"},
		{name: "hedgerow.language", kind: enumSetting, initial: "sql", enum: []string{"sql", "cypher"}, help: "language of statements whose first word both have"},
		{name: "hedgerow.agtype_plain", kind: boolSetting, initial: "off", help: "temporal and spatial agtype values print as plain JSON"},
		{name: "hedgerow.mem_limit", kind: memorySetting, initial: "1048576", help: "memory of one statement"},
		{name: "hedgerow.batch_size", kind: intSetting, initial: "1024", help: "rows of a batch"},
		{name: "hedgerow.plan_cache", kind: boolSetting, initial: "on", help: "keep plans, for statements that differ in literals too"},
		{name: "hedgerow.graph_cache", kind: boolSetting, initial: "on", help: "use what is in memory of the neighbourhoods of nodes; off reads them from the indexes"},
		{name: "hedgerow.reference", kind: boolSetting, initial: "off", help: "run statements by the reference plan: one row a batch, a barrier between all clauses"},
		{name: "age.enable_containment", kind: boolSetting, initial: "on", help: "accepted; a property map is always equality per key"},
	} {
		s.key = strings.ToLower(s.name)
		settings[s.key] = &s
	}
}

var isolationNames = []string{"read committed", "read uncommitted", "repeatable read", "serializable"}

func findSetting(name string) (*setting, error) {
	key := strings.ToLower(name)
	switch key {
	case "time zone", "time_zone":
		key = "timezone"
	case "graph_cache":
		key = "hedgerow.graph_cache"
	case "session characteristics":
		key = "default_transaction_isolation"
	}
	if s := settings[key]; s != nil {
		return s, nil
	}
	if prefix, _, ok := strings.Cut(key, "."); ok && prefix != "age" && prefix != "hedgerow" {
		return &setting{name: name, key: key, kind: textSetting}, nil // a customised option: kept, means nothing
	}
	err := dberr.New(dberr.UndefinedObject, "unrecognized configuration parameter %q", name)
	if near := closest(key, settingNames()); near != "" {
		err.WithHint("Perhaps you meant %q.", near)
	}
	return nil, err
}

func settingNames() []string {
	var names []string
	for _, s := range settings {
		names = append(names, s.name)
	}
	sort.Slice(names, func(i, j int) bool { return strings.ToLower(names[i]) < strings.ToLower(names[j]) })
	return names
}

// check returns the setting's value in its printed form.
func (s *setting) check(v string) (string, error) {
	bad := func(hint string) error {
		e := dberr.New(dberr.InvalidParameterValue, "invalid value for parameter %q: %q", s.name, v)
		if hint != "" {
			e.WithHint("%s", hint)
		}
		return e
	}
	switch s.kind {
	case internalSetting:
		return "", dberr.New(dberr.InvalidParameterValue, "parameter %q cannot be changed", s.name)
	case boolSetting:
		switch strings.ToLower(v) {
		case "on", "true", "t", "yes", "y", "1":
			return "on", nil
		case "off", "false", "f", "no", "n", "0":
			return "off", nil
		}
		return "", dberr.New(dberr.InvalidParameterValue, "parameter %q requires a Boolean value", s.name)
	case intSetting:
		if _, err := strconv.ParseInt(strings.TrimSpace(v), 10, 32); err != nil {
			return "", bad("")
		}
		return strings.TrimSpace(v), nil
	case enumSetting:
		x := strings.ToLower(v)
		switch {
		case s.name == "client_encoding":
			if slices.Contains([]string{"utf8", "utf-8", "unicode", "'utf8'"}, x) {
				return "UTF8", nil
			}
			if x == "sql_ascii" {
				return "SQL_ASCII", nil
			}
			return "", dberr.New(dberr.FeatureNotSupported, "encoding %q is not supported", v).WithHint("Text is UTF8 on every door.")
		case len(s.enum) > 0 && slices.Contains(s.enum, "on"):
			switch x {
			case "true", "yes", "1":
				x = "on"
			case "false", "no", "0":
				x = "off"
			}
		}
		if !slices.Contains(s.enum, x) {
			return "", bad("Available values: " + strings.Join(s.enum, ", ") + ".")
		}
		return x, nil
	case memorySetting:
		n, err := parseUnits(v, map[string]float64{"": 1, "b": 1.0 / 1024, "kb": 1, "mb": 1 << 10, "gb": 1 << 20, "tb": 1 << 30})
		if err != nil || n < 64 {
			return "", bad(`Valid units for this parameter are "B", "kB", "MB", "GB", and "TB"; the least value is 64kB.`)
		}
		return strconv.FormatInt(n, 10), nil
	case durationSetting:
		n, err := parseUnits(v, map[string]float64{"": 1, "us": 0.001, "ms": 1, "s": 1000, "min": 60000, "h": 3600000, "d": 86400000})
		if err != nil || n < 0 {
			return "", bad(`Valid units for this parameter are "us", "ms", "s", "min", "h", and "d".`)
		}
		return strconv.FormatInt(n, 10), nil
	}
	if s.name == "TimeZone" {
		if _, err := location(v); err != nil {
			return "", bad("")
		}
	}
	return v, nil
}

// show prints a checked value as SHOW does: with a unit where there is one.
func (s *setting) show(v string) string {
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil || n == 0 {
		return v
	}
	switch s.kind {
	case memorySetting:
		for _, u := range []struct {
			size int64
			name string
		}{{1 << 30, "TB"}, {1 << 20, "GB"}, {1 << 10, "MB"}} {
			if n%u.size == 0 {
				return strconv.FormatInt(n/u.size, 10) + u.name
			}
		}
		return v + "kB"
	case durationSetting:
		for _, u := range []struct {
			size int64
			name string
		}{{86400000, "d"}, {3600000, "h"}, {60000, "min"}, {1000, "s"}} {
			if n%u.size == 0 {
				return strconv.FormatInt(n/u.size, 10) + u.name
			}
		}
		return v + "ms"
	}
	return v
}

func parseUnits(v string, units map[string]float64) (int64, error) {
	v = strings.TrimSpace(v)
	i := 0
	for i < len(v) && (v[i] >= '0' && v[i] <= '9' || v[i] == '.' || v[i] == '-' || v[i] == '+') {
		i++
	}
	f, err := strconv.ParseFloat(v[:i], 64)
	if err != nil {
		return 0, err
	}
	u, ok := units[strings.ToLower(strings.TrimSpace(v[i:]))]
	if !ok {
		return 0, strconv.ErrSyntax
	}
	if f = math.Round(f * u); f > math.MaxInt32 || f < math.MinInt32 { // as in PostgreSQL
		return 0, strconv.ErrRange
	}
	return int64(f), nil
}

// location finds a time zone by name or by an offset in hours.
func location(name string) (*time.Location, error) {
	name = strings.Trim(name, "'")
	switch strings.ToLower(name) {
	case "utc", "gmt", "z", "default", "etc/utc":
		return time.UTC, nil
	case "local":
		return time.Local, nil
	}
	if h, err := strconv.ParseFloat(name, 64); err == nil && h >= -18 && h <= 18 {
		return time.FixedZone(name, int(h*3600)), nil
	}
	return time.LoadLocation(name)
}

// closest returns the candidate nearest to word, or "" if none is near.
func closest(word string, candidates []string) string {
	best, limit := "", len(word)/3+1
	for _, c := range candidates {
		if d := distance(word, strings.ToLower(c), limit); d <= limit && d > 0 {
			if d < limit || best == "" {
				best, limit = c, d
			}
		}
	}
	return best
}

// distance is the Levenshtein distance, or limit+1 if it is larger.
func distance(a, b string, limit int) int {
	if len(a)-len(b) > limit || len(b)-len(a) > limit {
		return limit + 1
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diag := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := diag
			if a[i-1] != b[j-1] {
				cost++
			}
			diag = row[j]
			row[j] = min(cost, row[j]+1, row[j-1]+1)
		}
	}
	return row[len(b)]
}
