package txn

// Mask is the part of a version's infomask that visibility depends on. The heap keeps these bits on the page.
type Mask uint16

const (
	XminSeen    Mask = 1 << iota // hint: xmin committed, and every snapshot sees it
	XminAborted                  // hint
	XmaxSeen                     // hint: xmax committed, and every snapshot sees it
	XmaxNone                     // xmax is not set, or its transaction aborted
	XmaxLock                     // xmax only locks
	XmaxDelete                   // xmax deletes; otherwise it updates (rules B10)
	XmaxNoKey                    // xmax does not delete and leaves the key alone (rules B2): KEY SHARE need not wait
	ComboCID                     // cid is a combo command id
	Updated                      // this version was made by an update
	Frozen                       // xmin is older than everything (rules A7)
	HotUpdated                   // the next version is on this page and has no index entries
	HeapOnly                     // this version has no index entries
)

// Version is what visibility depends on.
type Version struct {
	Xmin, Xmax XID
	CID        uint32
	Mask       Mask
}

// Sees reports whether a read at command id cid sees the version of row id. Own changes count if made by an earlier command
// and not undone by a rollback to a savepoint (rules A5). hints are the hint bits that the caller may now set on the version.
func (s *Snapshot) Sees(v Version, id uint64, cid uint32) (seen bool, hints Mask) {
	limit := s.csn
	if len(s.refresh) > 0 {
		limit = s.limit(id)
	}
	switch {
	case v.Mask&(XminSeen|Frozen) != 0:
	case v.Mask&XminAborted != 0:
		return false, 0
	case s.tx.owns(v.Xmin):
		if s.tx.cmin(v) >= cid {
			return false, 0
		}
	default:
		ok, st, at := s.committedBy(v.Xmin, limit)
		if !ok {
			if st == Aborted {
				hints = XminAborted
			}
			return false, hints
		}
		if uint64(at) <= s.m.horizonCSN.Load() {
			hints |= XminSeen
		}
	}
	if v.Mask&(XmaxNone|XmaxLock) != 0 || v.Xmax == InvalidXID {
		return true, hints
	}
	if v.Mask&XmaxSeen != 0 {
		return false, hints
	}
	if s.tx.owns(v.Xmax) {
		return s.tx.cmax(v) >= cid, hints
	}
	ok, st, at := s.committedBy(v.Xmax, limit)
	if ok {
		if uint64(at) <= s.m.horizonCSN.Load() {
			hints |= XmaxSeen
		}
		return false, hints
	}
	if st == Aborted {
		hints |= XmaxNone
	}
	return true, hints
}

// SeesChange reports whether a read at command id at sees what x did to row id with its command cid: Sees for what is kept as a change, apart
// from the row.
func (s *Snapshot) SeesChange(x XID, cid uint32, id uint64, at uint32) bool {
	if s.tx.owns(x) {
		return cid < at
	}
	ok, _, _ := s.committedBy(x, s.limit(id))
	return ok
}

// owns reports whether x is this transaction or a subtransaction of it that was not rolled back. A nil Tx owns nothing.
func (tx *Tx) owns(x XID) bool {
	if tx == nil || tx.top == InvalidXID || x < tx.top || x > tx.lastXID {
		return false
	}
	if x == tx.top {
		return true
	}
	lo, hi := 0, len(tx.subs)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if tx.subs[mid] < x {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo < len(tx.subs) && tx.subs[lo] == x
}

// Owns reports whether x belongs to the transaction and was not rolled back.
func (tx *Tx) Owns(x XID) bool { return tx.owns(x) }

func (tx *Tx) cmin(v Version) uint32 {
	if v.Mask&ComboCID != 0 {
		return tx.combo.at(v.CID).cmin
	}
	return v.CID
}

func (tx *Tx) cmax(v Version) uint32 {
	if v.Mask&ComboCID != 0 {
		return tx.combo.at(v.CID).cmax
	}
	return v.CID
}

// Cmin returns the command that made an own version.
func (tx *Tx) Cmin(v Version) uint32 { return tx.cmin(v) }

// Cmax returns the command that ended a version which this transaction ended.
func (tx *Tx) Cmax(v Version) uint32 { return tx.cmax(v) }
