package bolt

import (
	"slices"
	"strings"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/session"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

// kind is what Neo4j says of one kind of notice.
type kind struct {
	code, title, severity, category, status, condition string
}

const (
	warning     = "WARNING"
	information = "INFORMATION"
)

// kinds are the notices that have a name of Neo4j's, by ours.
var kinds = map[string]kind{
	"CartesianProduct": {"CartesianProduct", "This query builds a cartesian product between disconnected patterns.", information, "PERFORMANCE", "03N90",
		"info: cartesian product"},
	"MissingIndex": {"NoApplicableIndex", "Adding an index may speed up this query.", information, "PERFORMANCE", "03N93", "info: no applicable index"},
	"UnknownLabel": {"UnknownLabelWarning", "The provided label is not in the database.", warning, "UNRECOGNIZED", "01N50",
		"warn: label does not exist"},
	"UnknownRelationshipType": {"UnknownRelationshipTypeWarning", "The provided relationship type is not in the database.", warning, "UNRECOGNIZED", "01N51",
		"warn: relationship type does not exist"},
	"UnknownPropertyKey": {"UnknownPropertyKeyWarning", "The provided property key is not in the database.", warning, "UNRECOGNIZED", "01N52",
		"warn: property key does not exist"},
	"JoinHintUnfulfillable": {"JoinHintUnfulfillableWarning", "The database was unable to plan a hinted join.", warning, "HINT", "01N30",
		"warn: join hint unfulfillable"},
	"HintedIndexNotFound": {"Schema.HintedIndexNotFound", "The request (directly or indirectly) referred to an index that does not exist.", warning, "HINT", "01N31",
		"warn: hinted index not found"},
	"Deprecated": {"FeatureDeprecationWarning", "This feature is deprecated and will be removed in future versions.", warning, "DEPRECATION", "01N02",
		"warn: feature deprecated without replacement"},
}

// kindOf finds what is said of a notice; one that Neo4j does not know keeps its own name.
func kindOf(n session.Notice) kind {
	if k, ok := kinds[n.Name]; ok {
		return k
	}
	k := kind{code: n.Name, title: sentence(n.Message), severity: information, category: "GENERIC", status: "03N42", condition: "info: unknown information"}
	if n.Severity == "WARNING" {
		k.severity, k.status, k.condition = warning, "01N42", "warn: unknown warning"
	}
	if n.Name == "" {
		k.code = "Notice"
	}
	return k
}

// filter is which notices a client wants.
type filter struct {
	least    string   // severity: "" as the server likes, OFF, WARNING, INFORMATION
	disabled []string // categories
}

// with returns the filter changed by the entries of a message.
func (f filter) with(extra value.Value, v version) (filter, error) {
	least, err := textEntry(extra, "notifications_minimum_severity")
	if err != nil {
		return f, err
	}
	switch least {
	case "":
	case "OFF", warning, information:
		f.least = least
	default:
		return f, dberr.New(dberr.ProtocolViolation, "notifications_minimum_severity %q is none of OFF, WARNING, INFORMATION", least)
	}
	key := "notifications_disabled_categories"
	if v.classification() {
		key = "notifications_disabled_classifications"
	}
	disabled, err := textsEntry(extra, key)
	if err == nil && disabled != nil {
		f.disabled = disabled
	}
	return f, err
}

func (f filter) wants(k kind) bool {
	return f.least != "OFF" && !(f.least == warning && k.severity != warning) && !slices.Contains(f.disabled, k.category)
}

// remarks writes a statement's notices: as notifications, or as statuses together with how it ended.
func (c *conn) remarks(out meta, r *result) {
	var shown []session.Notice
	for _, n := range r.notices {
		if r.filter.wants(kindOf(n)) {
			shown = append(shown, n)
		}
	}
	if c.version.statuses() {
		out.put("statuses", statuses(r, shown))
		return
	}
	if len(shown) == 0 {
		return
	}
	var list value.ListBuilder
	for _, n := range shown {
		list.Add(c.notification(r, n))
	}
	out.put("notifications", list.List())
}

func (c *conn) notification(r *result, n session.Notice) value.Value {
	k := kindOf(n)
	m := newMeta()
	m.text("code", neo4jNotice(k))
	m.text("title", k.title)
	m.text("description", explain(n))
	m.text("severity", k.severity)
	if c.version.filters() {
		m.text("category", k.category)
	}
	if p, ok := place(r.text, r.place(n)); ok {
		m.put("position", p.value())
	}
	return m.value()
}

func neo4jNotice(k kind) string {
	if strings.Contains(k.code, ".") {
		return "Neo.ClientNotification." + k.code
	}
	return "Neo.ClientNotification.Statement." + k.code
}

// place is where in the client's text a notice's place is.
func (r *result) place(n session.Notice) int {
	if n.Pos < 0 {
		return -1
	}
	return n.Pos + r.offset
}

func explain(n session.Notice) string {
	s := sentence(n.Message)
	if n.Hint != "" {
		s += " " + sentence(n.Hint)
	}
	return s
}

// statuses lists how the statement ended and its notices by precedence: no data, warnings, success, information.
func statuses(r *result, notices []session.Notice) value.Value {
	var list value.ListBuilder
	end := func(status, text string) {
		m := newMeta()
		m.text("gql_status", status)
		m.text("status_description", text)
		m.put("diagnostic_record", newRecord().value())
		list.Add(m.value())
	}
	some := func(severity string) {
		for _, n := range notices {
			if k := kindOf(n); k.severity == severity {
				list.Add(status(r, n, k))
			}
		}
	}
	noData := len(r.prepared.Columns()) > 0 && r.rows == 0
	if noData {
		end("02000", "note: no data")
	}
	some(warning)
	switch {
	case noData:
	case len(r.prepared.Columns()) == 0:
		end("00001", "note: successful completion - omitted result")
	default:
		end("00000", "note: successful completion")
	}
	some(information)
	return list.List()
}

func status(r *result, n session.Notice, k kind) value.Value {
	m := newMeta()
	m.text("gql_status", k.status)
	m.text("status_description", k.condition+". "+explain(n))
	m.text("neo4j_code", neo4jNotice(k))
	m.text("title", k.title)
	m.text("description", explain(n))
	rec := newRecord()
	rec.text("_classification", k.category)
	rec.text("_severity", k.severity)
	if p, ok := place(r.text, r.place(n)); ok {
		rec.put("_position", p.value())
	}
	m.put("diagnostic_record", rec.value())
	return m.value()
}
