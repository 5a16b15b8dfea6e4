package heap

import (
	"github.com/hedgerowdb/hedgerow/internal/page"
	"github.com/hedgerowdb/hedgerow/internal/txn"
)

// Item is one version as a checker sees it, without judging it. Row aliases the page.
type Item struct {
	Version   txn.Version
	Next      page.TID // where the next version is, or its own place
	HeaderLen int
	Row       []byte
}

// Inspect returns the version in line pointer off of a page that does not change meanwhile; ok is false if it holds none.
func Inspect(p page.Page, off int) (Item, bool) {
	t, ok := normal(p, off)
	if !ok {
		return Item{}, false
	}
	return Item{Version: t.version(), Next: t.ctid(), HeaderLen: int(p[t.at+offHoff]), Row: t.row()}, true
}

// MarkedAllVisible reports whether the page says that every snapshot sees everything on it (H4).
func MarkedAllVisible(p page.Page) bool { return p.Flags()&flagAllVisible != 0 }

// MapBlock returns the page of the visibility map that covers heap page b.
func MapBlock(b page.Block) page.Block { return vmBlock(b) }

// MappedVisible reports whether a page of the visibility map says of heap page b that every snapshot sees everything on it.
func MappedVisible(vm page.Page, b page.Block) bool {
	if vm.IsNew() {
		return false
	}
	w, sh := vmWord(vm, b)
	return *w>>sh&vmVisible != 0
}
