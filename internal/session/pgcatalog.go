package session

import (
	"context"

	"github.com/hedgerowdb/hedgerow/internal/query/sqlbind"
	"github.com/hedgerowdb/hedgerow/internal/schema"
	"github.com/hedgerowdb/hedgerow/internal/sqltype"
	"github.com/hedgerowdb/hedgerow/internal/store"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

// Tables of pg_catalog that clients join when they describe a database and that have no rows here, since what they list does not exist: column
// definitions, triggers, policies, publications and so on.
func init() {
	O, N, T, B, I2, I4, C := sqltype.OID, sqltype.Name, sqltype.Text, sqltype.Bool, sqltype.Int2, sqltype.Int4, sqltype.Char
	none := func(context.Context, *Session, store.Tx, store.Stmt) ([][]value.Value, error) { return nil, nil }
	for name, columns := range map[string][]sqlbind.Column{
		"pg_attrdef":     cols("oid", O, "adrelid", O, "adnum", I2, "adbin", T),
		"pg_constraint":  cols("oid", O, "conname", N, "connamespace", O, "contype", C, "condeferrable", B, "condeferred", B, "convalidated", B, "conrelid", O, "contypid", O, "conindid", O, "conparentid", O, "confrelid", O, "confupdtype", C, "confdeltype", C, "confmatchtype", C, "conislocal", B, "coninhcount", I4, "connoinherit", B, "conkey", sqltype.Int2Array, "confkey", sqltype.Int2Array),
		"pg_description": cols("objoid", O, "classoid", O, "objsubid", I4, "description", T),
		"pg_index":       cols("indexrelid", O, "indrelid", O, "indnatts", I2, "indnkeyatts", I2, "indisunique", B, "indisprimary", B, "indisexclusion", B, "indimmediate", B, "indisclustered", B, "indisvalid", B, "indisreplident", B, "indkey", sqltype.Int2Array, "indoption", sqltype.Int2Array, "indexprs", T, "indpred", T),
		"pg_inherits":    cols("inhrelid", O, "inhparent", O, "inhseqno", I4, "inhdetachpending", B),
		"pg_policy":      cols("oid", O, "polname", N, "polrelid", O, "polcmd", C, "polpermissive", B, "polroles", sqltype.OIDArray, "polqual", T, "polwithcheck", T),
		"pg_proc": cols("oid", O, "proname", N, "pronamespace", O, "proowner", O, "prolang", O, "prokind", C, "prosecdef", B, "proisstrict", B, "proretset", B, "provolatile", C, "proparallel", C,
			"pronargs", I2, "prorettype", O, "proargtypes", sqltype.OIDArray, "prosrc", T, "proacl", sqltype.TextArray),
		"pg_trigger":               cols("oid", O, "tgrelid", O, "tgparentid", O, "tgname", N, "tgfoid", O, "tgtype", I2, "tgenabled", C, "tgisinternal", B, "tgconstraint", O, "tgdeferrable", B, "tginitdeferred", B),
		"pg_publication":           cols("oid", O, "pubname", N, "puballtables", B),
		"pg_publication_rel":       cols("oid", O, "prpubid", O, "prrelid", O, "prqual", T, "prattrs", sqltype.Int2Array),
		"pg_publication_namespace": cols("oid", O, "pnpubid", O, "pnnspid", O),
		"pg_statistic_ext":         cols("oid", O, "stxrelid", O, "stxname", N, "stxnamespace", O, "stxkind", sqltype.CharArray, "stxkeys", sqltype.Int2Array, "stxstattarget", I4),
		"pg_auth_members":          cols("roleid", O, "member", O, "grantor", O, "admin_option", B),
		"pg_collation":             cols("oid", O, "collname", N, "collnamespace", O, "collprovider", C, "collcollate", T),
		"pg_foreign_table":         cols("ftrelid", O, "ftserver", O),
		"pg_tablespace":            cols("oid", O, "spcname", N, "spcowner", O),
		"pg_enum":                  cols("oid", O, "enumtypid", O, "enumlabel", N),
		"pg_range":                 cols("rngtypid", O, "rngsubtype", O),
		"pg_matviews":              cols("schemaname", N, "matviewname", N),
		"pg_views":                 cols("schemaname", N, "viewname", N, "viewowner", N, "definition", T),
	} {
		catalogTables[name] = &catalogTable{"pg_catalog", columns, none}
	}
	catalogTables["pg_am"] = &catalogTable{"pg_catalog", cols("oid", O, "amname", N, "amtype", C), func(context.Context, *Session, store.Tx, store.Stmt) ([][]value.Value, error) {
		return [][]value.Value{{num(2), text("heap"), text("t")}, {num(403), text("btree"), text("i")}}, nil
	}}
	catalogTables["pg_attribute"] = &catalogTable{"pg_catalog", cols("attrelid", O, "attname", N, "atttypid", O, "attlen", I2, "attnum", I2, "atttypmod", I4, "attnotnull", B, "atthasdef", B,
		"attidentity", C, "attgenerated", C, "attisdropped", B, "attislocal", B, "attcollation", O, "attstorage", C, "attcompression", C, "attstattarget", I4, "attacl", sqltype.TextArray), attributes}
	catalogTables["pg_tables"] = &catalogTable{"pg_catalog", cols("schemaname", N, "tablename", N, "tableowner", N), func(ctx context.Context, s *Session, tx store.Tx, stmt store.Stmt) (out [][]value.Value, err error) {
		err = eachGraph(ctx, tx, stmt, func(g schema.Graph, labels []schema.Label) {
			for _, l := range labels {
				out = append(out, []value.Value{text(g.Name), text(l.Name), text(s.client.User)})
			}
		})
		return out, err
	}}
}

// attributes lists the columns of label tables, which are those of Apache AGE.
func attributes(ctx context.Context, _ *Session, tx store.Tx, stmt store.Stmt) (out [][]value.Value, err error) {
	err = eachGraph(ctx, tx, stmt, func(g schema.Graph, labels []schema.Label) {
		for _, l := range labels {
			names, types := []string{"id", "properties"}, []*sqltype.Type{sqltype.Graphid, sqltype.Agtype}
			if l.Entity == schema.Edge {
				names, types = []string{"id", "start_id", "end_id", "properties"}, []*sqltype.Type{sqltype.Graphid, sqltype.Graphid, sqltype.Graphid, sqltype.Agtype}
			}
			for i, name := range names {
				out = append(out, []value.Value{num(labelOID(g, l)), text(name), num(int64(types[i].OID)), num(int64(types[i].Len)), num(int64(i + 1)), num(-1), flag(true), flag(false),
					text(""), text(""), flag(false), flag(true), num(0), text("x"), text(""), num(-1), {}})
			}
		}
	})
	return out, err
}
