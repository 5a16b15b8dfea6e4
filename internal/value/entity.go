package value

import "encoding/binary"

// A materialised node is its labels (a list of strings) and its properties (a map), both in the binary form with tags; a
// materialised relationship is start u64, end u64, type (a string) and properties. A path is laid out like a list.

// NewNodeFull makes a node with its contents. The first label is the one that AGE's text shows.
func NewNodeFull(id uint64, labels []string, props Value) Value {
	elems := make([]Value, len(labels))
	for i, l := range labels {
		elems[i] = NewString(l)
	}
	list := NewList(elems...)
	b := make([]byte, 0, size(list)+size(props))
	return FromBytes(Node, id, AppendValue(AppendValue(b, list), asMap(props)))
}

// NewRelFull makes a relationship with its contents.
func NewRelFull(id, start, end uint64, typ string, props Value) Value {
	t := NewString(typ)
	b := make([]byte, 0, 16+size(t)+size(props))
	b = binary.LittleEndian.AppendUint64(b, start)
	b = binary.LittleEndian.AppendUint64(b, end)
	return FromBytes(Rel, id, AppendValue(AppendValue(b, t), asMap(props)))
}

func asMap(v Value) Value {
	if v.kind != Map {
		return Value{kind: Map}
	}
	return v
}

// NewPath makes a path of nodes and relationships in turn, beginning and ending with a node.
func NewPath(elems ...Value) Value { return FromBytes(Path, 0, AppendList(nil, elems...)) }

// Bare returns an entity as its reference alone.
func (v Value) Bare() Value { return Value{kind: v.kind, word: v.word} }

func (v Value) parts() (head, props Value) {
	b := v.Raw()
	if v.kind == Rel {
		if len(b) < 16 {
			return
		}
		b = b[16:]
	}
	head, rest, err := DecodeValue(b)
	if err != nil {
		return Value{}, Value{}
	}
	return head, decodeAll(rest)
}

// Labels returns the labels of a materialised node.
func (v Value) Labels() []string {
	if v.kind != Node || v.ptr == nil {
		return nil
	}
	l, _ := v.parts()
	out := make([]string, 0, l.Len())
	for _, e := range l.All() {
		out = append(out, e.Text())
	}
	return out
}

// Text returns the text of a String, "" for other kinds.
func (v Value) Text() string {
	if v.kind != String {
		return ""
	}
	return v.Str()
}

// RelType returns the type of a materialised relationship.
func (v Value) RelType() string {
	if v.kind != Rel || v.ptr == nil {
		return ""
	}
	t, _ := v.parts()
	return t.Text()
}

// Start returns the start node's id of a materialised relationship.
func (v Value) Start() uint64 {
	if v.kind != Rel || v.n < 16 {
		return 0
	}
	return binary.LittleEndian.Uint64(v.Raw())
}

// End returns the end node's id of a materialised relationship.
func (v Value) End() uint64 {
	if v.kind != Rel || v.n < 16 {
		return 0
	}
	return binary.LittleEndian.Uint64(v.Raw()[8:])
}

// Properties returns the map of a materialised entity; an empty map for a bare one.
func (v Value) Properties() Value {
	if !v.Materialised() {
		return Value{kind: Map}
	}
	_, p := v.parts()
	return asMap(p)
}

func validateEntity(v Value, depth int) error {
	b := v.Raw()
	want := List
	if v.kind == Rel {
		if len(b) < 16 {
			return errBytes
		}
		b, want = b[16:], String
	}
	head, rest, err := DecodeValue(b)
	if err != nil || head.kind != want {
		return errBytes
	}
	for _, e := range head.All() {
		if e.kind != String {
			return errBytes
		}
	}
	props, rest, err := DecodeValue(rest)
	if err != nil || len(rest) != 0 || props.kind != Map {
		return errBytes
	}
	if err := validate(head, depth+1); err != nil {
		return err
	}
	return validate(props, depth+1)
}
