package txn

import "sync"

type pair struct{ cmin, cmax uint32 }

// combos maps a combo command id to the two that it stands for: a version that its own transaction made and ended has room for
// one. Ids are dense, one for each distinct pair. Others read it too (A6).
type combos struct {
	mu    sync.RWMutex
	pairs []pair
	ids   map[pair]uint32
}

func (c *combos) at(id uint32) pair {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.pairs[id]
}

func (c *combos) id(cmin, cmax uint32) uint32 {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := pair{cmin, cmax}
	if id, ok := c.ids[p]; ok {
		return id
	}
	if c.ids == nil {
		c.ids = make(map[pair]uint32)
	}
	id := uint32(len(c.pairs))
	c.pairs = append(c.pairs, p)
	c.ids[p] = id
	return id
}

// StampMax returns the cid and combo bit that a version must carry once this transaction ends it at command cmax.
func (tx *Tx) StampMax(v Version, cmax uint32) (cid uint32, combo Mask) {
	if v.Mask&Frozen != 0 || !tx.owns(v.Xmin) {
		return cmax, 0
	}
	return tx.combo.id(tx.cmin(v), cmax), ComboCID
}

// CIDs returns the two command ids of a version that a running transaction made or ended; ok is false if neither xid runs any
// more. It may be called by anybody (A6).
func (m *Manager) CIDs(v Version) (cmin, cmax uint32, ok bool) {
	if v.Mask&ComboCID == 0 {
		return v.CID, v.CID, true
	}
	for _, x := range [2]XID{v.Xmin, v.Xmax} {
		if tx := m.owner(x); tx != nil {
			tx.combo.mu.RLock()
			if int(v.CID) < len(tx.combo.pairs) {
				p := tx.combo.pairs[v.CID]
				cmin, cmax, ok = p.cmin, p.cmax, true
			}
			tx.combo.mu.RUnlock()
			return cmin, cmax, ok
		}
	}
	return 0, 0, false
}
