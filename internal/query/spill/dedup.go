package spill

import "encoding/binary"

// Dedup lets the first of equal records pass, in the order in which they were added.
type Dedup struct {
	in, out Sorter
	p       *Place
	key     [16]byte
	seq     uint64
	first   []byte // records of the hash at hand that passed
	ends    []int
	mem     charge
	done    bool
}

// Init makes an empty one of a zero one.
func (d *Dedup) Init(p *Place) {
	*d = Dedup{p: p}
	d.in.Init(p.Part(2))
	d.out.Init(p.Part(2))
}

// Add adds a record; equal ones have equal hashes.
func (d *Dedup) Add(hash uint64, body []byte) error {
	binary.BigEndian.PutUint64(d.key[:], hash)
	binary.BigEndian.PutUint64(d.key[8:], d.seq)
	d.seq++
	return d.in.Add(d.key[:], body)
}

// Finish ends adding; same tells whether two records are equal.
func (d *Dedup) Finish(same func(a, b []byte) (bool, error)) error {
	d.done = true
	if err := d.in.Sort(); err != nil {
		return err
	}
	hash, any := uint64(0), false
	for {
		key, body, ok, err := d.in.Next()
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		if h := binary.BigEndian.Uint64(key); !any || h != hash {
			hash, any = h, true
			d.first, d.ends = d.first[:0], d.ends[:0]
		}
		dup, at := false, 0
		for _, end := range d.ends {
			if dup, err = same(d.first[at:end], body); dup || err != nil {
				break
			}
			at = end
		}
		if err != nil {
			return err
		}
		if dup {
			continue
		}
		d.first = append(d.first, body...)
		d.ends = append(d.ends, len(d.first))
		if err := d.mem.set(d.p.Mem, int64(cap(d.first)+8*cap(d.ends))); err != nil {
			return err
		}
		if err := d.out.Add(key[8:], body); err != nil {
			return err
		}
	}
	d.in.Close()
	return d.out.Sort()
}

// Next returns the next record that passed; false at the end.
func (d *Dedup) Next() ([]byte, bool, error) {
	_, body, ok, err := d.out.Next()
	return body, ok, err
}

// Close frees everything; idempotent.
func (d *Dedup) Close() {
	if d.p == nil {
		return
	}
	d.in.Close()
	d.out.Close()
	_ = d.mem.set(d.p.Mem, 0)
	d.first, d.ends = nil, nil
}
