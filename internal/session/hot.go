package session

import "time"

// current are the settings that every statement asks for, read once and again when one of them changes.
type current struct {
	graph, zone                   string
	batchSize, workMem, memLimit  int64
	reference, planCache          bool
	readOnly, async, graphCache   bool
	plain                         bool
	isolation, messages           string
	statementTimeout, lockTimeout int64
	txTimeout, idleTimeout        int64
	location                      *time.Location // nil for UTC
}

// now returns the settings as they are.
func (s *Session) now() *current {
	if s.known {
		return &s.current
	}
	raw := func(name string) string { return s.raw(settings[name]) }
	s.current = current{
		graph: raw("hedgerow.graph"), zone: raw("timezone"),
		batchSize: s.intSetting("hedgerow.batch_size"), workMem: s.intSetting("work_mem") << 10, memLimit: s.intSetting("hedgerow.mem_limit") << 10,
		reference: s.boolSetting("hedgerow.reference"), planCache: s.boolSetting("hedgerow.plan_cache"),
		readOnly: s.boolSetting("transaction_read_only"), async: raw("synchronous_commit") == "off", plain: s.boolSetting("hedgerow.agtype_plain"),
		graphCache: s.boolSetting("hedgerow.graph_cache") && !s.boolSetting("hedgerow.reference"), isolation: raw("default_transaction_isolation"), messages: raw("client_min_messages"),
		statementTimeout: s.intSetting("statement_timeout"), lockTimeout: s.intSetting("lock_timeout"),
		txTimeout: s.intSetting("transaction_timeout"), idleTimeout: s.intSetting("idle_in_transaction_session_timeout"),
	}
	if s.current.zone != "UTC" {
		s.current.location, _ = location(s.current.zone)
	}
	s.known = true
	return &s.current
}

// changed says that a setting is not what it was.
func (s *Session) changed() { s.known = false }
