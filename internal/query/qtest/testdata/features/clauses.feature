Feature: Clauses

  Scenario: Unwinding keeps duplicates, order and nulls inside a list
    Given any graph
    When executing query:
      """
      UNWIND [1, null, 1, [2]] AS x RETURN x
      """
    Then the result should be, in order:
      | x    |
      | 1    |
      | null |
      | 1    |
      | [2]  |
    And no side effects

  Scenario Outline: Unwinding <l> gives <c> rows
    Given any graph
    When executing query:
      """
      UNWIND <l> AS x RETURN count(*) AS c
      """
    Then the result should be, in any order:
      | c   |
      | <c> |

    Examples:
      | l | c |
      | [] | 0 |
      | null | 0 |
      | [null] | 1 |
      | [[], []] | 2 |
      | range(1, 3) + range(4, 5) | 5 |
      | 7 | 1 |

  Scenario: Unwinding a collected list and creating from it
    Given an empty graph
    And having executed:
      """
      CREATE (:Year {year: 2016})
      """
    And parameters are:
      | events | [{year: 2016, id: 1}, {year: 2016, id: 2}] |
    When executing query:
      """
      UNWIND $events AS event
      MATCH (y:Year {year: event.year})
      MERGE (e:Event {id: event.id})
      MERGE (y)<-[:IN]-(e)
      RETURN e.id AS x ORDER BY x
      """
    Then the result should be, in order:
      | x |
      | 1 |
      | 2 |
    And the side effects should be:
      | +nodes         | 2 |
      | +relationships | 2 |
      | +labels        | 1 |
      | +properties    | 2 |

  Scenario: Aliases of an unwound variable do not shadow it
    Given any graph
    When executing query:
      """
      WITH [1, 2, 3] AS list UNWIND list AS x RETURN *
      """
    Then the result should be, in any order:
      | list      | x |
      | [1, 2, 3] | 1 |
      | [1, 2, 3] | 2 |
      | [1, 2, 3] | 3 |

  Scenario: Double unwinding
    Given any graph
    When executing query:
      """
      WITH [[1, 2], [3], []] AS lol UNWIND lol AS x UNWIND x AS y RETURN y
      """
    Then the result should be, in order:
      | y |
      | 1 |
      | 2 |
      | 3 |

  Scenario: A deleted node and its relationships
    Given an empty graph
    And having executed:
      """
      CREATE (a:A)-[:R {x: 1}]->(b:B), (b)-[:R]->(:C)
      """
    When executing query:
      """
      MATCH (b:B) DETACH DELETE b RETURN count(*) AS c
      """
    Then the result should be, in any order:
      | c |
      | 1 |
    And the side effects should be:
      | -nodes         | 1 |
      | -relationships | 2 |
      | -labels        | 1 |
      | -properties    | 1 |

  Scenario: Undirected match deleting both ends in one go
    Given an empty graph
    And having executed:
      """
      CREATE ()-[:R]->()
      """
    When executing query:
      """
      MATCH (a)-[r]-(b) DELETE r, a, b RETURN count(*) AS c
      """
    Then the result should be, in any order:
      | c |
      | 2 |
    And the side effects should be:
      | -nodes         | 2 |
      | -relationships | 1 |

  Scenario: Deleting and creating in one statement
    Given an empty graph
    And having executed:
      """
      CREATE (), ()
      """
    When executing query:
      """
      MATCH (n) CREATE (m) DELETE n RETURN count(m) AS c
      """
    Then the result should be, in any order:
      | c |
      | 2 |
    And the side effects should be:
      | +nodes | 2 |
      | -nodes | 2 |

  Scenario: A deleted list of nodes then merged anew
    Given an empty graph
    And having executed:
      """
      CREATE (:A {num: 1}), (:A {num: 2})
      """
    When executing query:
      """
      MATCH (a:A) DELETE a MERGE (a2:A) RETURN count(*) AS c
      """
    Then the result should be, in any order:
      | c |
      | 2 |
    And the side effects should be:
      | +nodes      | 1 |
      | -nodes      | 2 |
      | -properties | 2 |

  Scenario Outline: LIMIT and SKIP do not cut what <w> does
    Given an empty graph
    And having executed:
      """
      UNWIND range(1, 5) AS i CREATE (:N {num: i})
      """
    When executing query:
      """
      MATCH (n:N) <w> RETURN 42 AS num <l>
      """
    Then the result should be, in any order:
      | num |
      | 42  |
    And the side effects should be:
      | <e1>    | <n1> |
      | <e2>    | <n2> |
      | -labels | <l1> |

    Examples:
      | w | l | e1 | n1 | e2 | n2 | l1 |
      | DELETE n | LIMIT 1 | -nodes | 5 | -properties | 5 | 1 |
      | DELETE n | SKIP 4 | -nodes | 5 | -properties | 5 | 1 |
      | CREATE (:N {a: 1}) | SKIP 1 LIMIT 1 | +nodes | 5 | +properties | 5 | 0 |
      | SET n.num = n.num + 10 | LIMIT 1 | +properties | 5 | -properties | 5 | 0 |

  Scenario: LIMIT 0 does not cut writes
    Given an empty graph
    When executing query:
      """
      UNWIND range(1, 3) AS i CREATE (n:N {num: i}) RETURN n LIMIT 0
      """
    Then the result should be, in any order:
      | n |
    And the side effects should be:
      | +nodes      | 3 |
      | +labels     | 1 |
      | +properties | 3 |

  Scenario: A filter after a write does not cut it
    Given an empty graph
    When executing query:
      """
      UNWIND range(1, 4) AS i CREATE (n:N {num: i}) WITH n WHERE n.num % 2 = 0 RETURN n.num AS num ORDER BY num DESC
      """
    Then the result should be, in order:
      | num |
      | 4   |
      | 2   |
    And the side effects should be:
      | +nodes      | 4 |
      | +labels     | 1 |
      | +properties | 4 |

  Scenario: An aggregate after a write sees all of it
    Given an empty graph
    When executing query:
      """
      UNWIND range(1, 4) AS i CREATE ()-[r:R {num: i}]->() WITH sum(r.num) AS s RETURN s
      """
    Then the result should be, in any order:
      | s  |
      | 10 |
    And the side effects should be:
      | +nodes         | 8 |
      | +relationships | 4 |
      | +properties    | 4 |

  Scenario: Merging on create and on match
    Given an empty graph
    And having executed:
      """
      CREATE (a:A {n: 1}), (b:B {n: 2}), (a)-[:T {name: 'old'}]->(b)
      """
    When executing query:
      """
      MATCH (a:A), (b:B)
      MERGE (a)-[r:T {name: 'old'}]->(b) ON CREATE SET r.c = 1 ON MATCH SET r.m = 1
      MERGE (b)-[s:T {name: 'new'}]->(a) ON CREATE SET s.c = 1 ON MATCH SET s.m = 1
      RETURN r.m, r.c, s.m, s.c
      """
    Then the result should be, in any order:
      | r.m | r.c  | s.m  | s.c |
      | 1   | null | null | 1   |
    And the side effects should be:
      | +relationships | 1 |
      | +properties    | 3 |

  Scenario: ON MATCH sets labels
    Given an empty graph
    And having executed:
      """
      CREATE (:A {n: 1}), (:A {n: 2})
      """
    When executing query:
      """
      MERGE (a:A) ON MATCH SET a:B, a.x = a.n * 2 RETURN a.x AS x, a:B AS b
      """
    Then the result should be, in any order:
      | x | b    |
      | 2 | true |
      | 4 | true |
    And the side effects should be:
      | +labels     | 1 |
      | +properties | 2 |

  Scenario: ON MATCH copies properties of another node
    Given an empty graph
    And having executed:
      """
      CREATE (:A {n: 1, m: 2}), (:B {n: 5})
      """
    When executing query:
      """
      MATCH (a:A) MERGE (b:B) ON MATCH SET b = a RETURN properties(b) AS p
      """
    Then the result should be, in any order:
      | p            |
      | {n: 1, m: 2} |
    And the side effects should be:
      | +properties | 2 |
      | -properties | 1 |

  Scenario: Removing a property and a label, twice and absent
    Given an empty graph
    And having executed:
      """
      CREATE (:A:B {x: 1, y: 2})-[:R {z: 1}]->()
      """
    When executing query:
      """
      MATCH (n:A)-[r]->() REMOVE n:B, n:C, n.x, n.x, n.nope, r.z RETURN n, r
      """
    Then the result should be, in any order:
      | n           | r    |
      | (:A {y: 2}) | [:R] |
    And the side effects should be:
      | -properties | 2 |
      | -labels     | 1 |

  Scenario: SET with null, lists, computed keys of a map
    Given an empty graph
    And having executed:
      """
      CREATE (:A {x: 1, l: [1, 2]})
      """
    When executing query:
      """
      MATCH (n:A) SET n.x = null, n.l = n.l + [3], n.m = [i IN n.l WHERE i > 1 | i * 2] RETURN n
      """
    Then the result should be, in any order:
      | n                              |
      | (:A {l: [1, 2, 3], m: [4, 6]}) |
    And the side effects should be:
      | +properties | 2 |
      | -properties | 2 |

  Scenario Outline: SET <e> is refused
    Given an empty graph
    And having executed:
      """
      CREATE (:A {x: 1})
      """
    When executing query:
      """
      MATCH (n:A) SET <e>
      """
    Then a <type> should be raised at <phase>: <detail>

    Examples:
      | e | type | phase | detail |
      | n.x = {a: 1} | TypeError | any time | InvalidPropertyType |
      | n.x = [[1]] | TypeError | any time | InvalidPropertyType |
      | n.x = [{a: 1}] | TypeError | any time | InvalidPropertyType |
      | n.x = m | SyntaxError | compile time | UndefinedVariable |
      | m.x = 1 | SyntaxError | compile time | UndefinedVariable |

  Scenario: Setting on null does nothing
    Given an empty graph
    When executing query:
      """
      OPTIONAL MATCH (n:Nope) SET n.x = 1, n:L, n += {a: 1}, n = {b: 1} REMOVE n.x, n:L DETACH DELETE n RETURN n
      """
    Then the result should be, in any order:
      | n    |
      | null |
    And no side effects

  Scenario: Union of the same columns dedups by equivalence
    Given any graph
    When executing query:
      """
      RETURN 1 AS x, null AS y UNION RETURN 1.0 AS x, null AS y UNION RETURN 1 AS x, null AS y
      """
    Then the result should be, in any order:
      | x | y    |
      | 1 | null |

  Scenario Outline: <q> is raised as <type> at <phase>: <detail>
    Given any graph
    When executing query:
      """
      <q>
      """
    Then a <type> should be raised at <phase>: <detail>

    Examples:
      | q | type | phase | detail |
      | RETURN 1 AS a UNION RETURN 2 AS b | SyntaxError | compile time | DifferentColumnsInUnion |
      | RETURN 1 AS a, 2 AS b UNION RETURN 2 AS b, 1 AS a | SyntaxError | compile time | DifferentColumnsInUnion |
      | RETURN 1 AS a UNION RETURN 2 AS a UNION ALL RETURN 3 AS a | SyntaxError | compile time | InvalidClauseComposition |
      | RETURN 1 AS a UNION ALL RETURN 2 AS a UNION RETURN 3 AS a | SyntaxError | compile time | InvalidClauseComposition |
      | MATCH (n) RETURN n.x AS a, n.y AS a | SyntaxError | compile time | ColumnNameConflict |
      | WITH 1 AS a, 2 AS a RETURN a | SyntaxError | compile time | ColumnNameConflict |
      | MATCH (n) WITH n.x RETURN n | SyntaxError | compile time | NoExpressionAlias |
      | MATCH (n) WITH n, count(*) RETURN n | SyntaxError | compile time | NoExpressionAlias |
      | MATCH () RETURN * | SyntaxError | compile time | NoVariablesInScope |
      | MATCH (n) RETURN n LIMIT n.x | SyntaxError | compile time | NonConstantExpression |
      | MATCH (n) RETURN n SKIP n.x | SyntaxError | compile time | NonConstantExpression |
      | MATCH (n) RETURN n LIMIT -1 | SyntaxError | compile time | NegativeIntegerArgument |
      | MATCH (n) RETURN n SKIP -1 | SyntaxError | compile time | NegativeIntegerArgument |
      | MATCH (n) RETURN n LIMIT 1.5 | SyntaxError | compile time | InvalidArgumentType |
      | MATCH (n) WITH n LIMIT 1.5 RETURN n | SyntaxError | compile time | InvalidArgumentType |
      | MATCH (n) WITH n SKIP n.count RETURN n | SyntaxError | compile time | NonConstantExpression |
      | MATCH (n) RETURN count(*) AS c ORDER BY n.x | SyntaxError | compile time | UndefinedVariable |
      | MATCH (n) RETURN DISTINCT n.a ORDER BY n.b | SyntaxError | compile time | UndefinedVariable |
      | MATCH (n) RETURN n.a ORDER BY count(n.b) | SyntaxError | compile time | InvalidAggregation |
      | MATCH (n) WITH n.a AS a WITH a ORDER BY n.b RETURN a | SyntaxError | compile time | UndefinedVariable |
      | RETURN count(count(*)) | SyntaxError | compile time | NestedAggregation |
      | RETURN count(rand()) | SyntaxError | compile time | NonConstantExpression |
      | MATCH (n) WHERE count(n) > 1 RETURN n | SyntaxError | compile time | InvalidAggregation |
      | MATCH (a)--(b) RETURN a.x + b.x + count(*) | SyntaxError | compile time | AmbiguousAggregationExpression |
      | MATCH (a)--(b) WITH a.x + b.x AS s, a.x + b.x + count(*) AS c RETURN * | SyntaxError | compile time | AmbiguousAggregationExpression |
      | CREATE (a)-[:A*2]->(b) | SyntaxError | compile time | CreatingVarLength |
      | CREATE (a)-[:A]-(b) | SyntaxError | compile time | RequiresDirectedRelationship |
      | CREATE (a)<-[:A]->(b) | SyntaxError | compile time | RequiresDirectedRelationship |
      | CREATE (a)-[:A\|B]->(b) | SyntaxError | compile time | NoSingleRelationshipType |
      | CREATE (a)-->(b) | SyntaxError | compile time | NoSingleRelationshipType |
      | MATCH (a) CREATE (a) | SyntaxError | compile time | VariableAlreadyBound |
      | MATCH (a) CREATE (a {x: 1})-[:R]->() | SyntaxError | compile time | VariableAlreadyBound |
      | MATCH (a) CREATE (a:L)-[:R]->() | SyntaxError | compile time | VariableAlreadyBound |
      | MATCH ()-[r]->() CREATE ()-[r]->() | SyntaxError | compile time | VariableAlreadyBound |
      | MATCH (a) MERGE (a) | SyntaxError | compile time | VariableAlreadyBound |
      | MATCH (a), (b) MERGE (a)-[r:T]->(b) MERGE (a)-[r:T]->(b) | SyntaxError | compile time | VariableAlreadyBound |
      | MERGE (a)-[:A*2]->(b) | SyntaxError | compile time | CreatingVarLength |
      | MERGE (a)-->(b) | SyntaxError | compile time | NoSingleRelationshipType |
      | MERGE (a)-[:A\|B]->(b) | SyntaxError | compile time | NoSingleRelationshipType |
      | MERGE (n {x: 1}) ON CREATE SET m.x = 1 | SyntaxError | compile time | UndefinedVariable |
      | MERGE (n {x: 1}) ON MATCH SET m.x = 1 | SyntaxError | compile time | UndefinedVariable |
      | MERGE ({num: null}) | SemanticError | runtime | MergeReadOwnWrites |
      | CREATE (a {x: missing}) | SyntaxError | compile time | UndefinedVariable |
      | MATCH (n) DELETE n:Person | SyntaxError | compile time | InvalidDelete |
      | MATCH (n) DELETE 1 + 1 | SyntaxError | compile time | InvalidArgumentType |
      | MATCH (n) DELETE x | SyntaxError | compile time | UndefinedVariable |
      | MATCH (n) WHERE (n)-[r]->() RETURN n | SyntaxError | compile time | UndefinedVariable |
      | MATCH (n) WHERE (n) RETURN n | SyntaxError | compile time | InvalidArgumentType |
      | MATCH (n) SET n.x = (n)-->() | SyntaxError | compile time | UnexpectedSyntax |
      | MATCH (a)-[r]->() MATCH (r) RETURN r | SyntaxError | compile time | VariableTypeConflict |
      | MATCH p = (a) MATCH (p) RETURN p | SyntaxError | compile time | VariableTypeConflict |
      | MATCH (a) MATCH a = () RETURN a | SyntaxError | compile time | VariableAlreadyBound |
      | MATCH (a)-[r*]->() MATCH ()-[r]->() RETURN r | SyntaxError | compile time | VariableTypeConflict |
      | MATCH ()-[r]->()-[r]->() RETURN r | SyntaxError | compile time | RelationshipUniquenessViolation |
      | MATCH (a)-[:T*..-1]->(b) RETURN a | SyntaxError | compile time | InvalidRelationshipPattern |
      | MATCH (n) WHERE EXISTS { MATCH (n) SET n.x = 1 } RETURN n | SyntaxError | compile time | InvalidClauseComposition |
      | CALL test.nope() | ProcedureError | compile time | ProcedureNotFound |
      | CALL test.nope() YIELD a RETURN a | ProcedureError | compile time | ProcedureNotFound |
      | UNWIND [1] AS x RETURN percentileDisc(x, 1.5) | ArgumentError | runtime | NumberOutOfRange |

  Scenario: Any two of the ends of a triangle
    Given an empty graph
    And having executed:
      """
      CREATE (a:P {n: 'a'}), (b1:X {n: 'b1'}), (b2:X {n: 'b2'}), (c:Y {n: 'c'}),
        (a)-[:KNOWS]->(b1), (a)-[:KNOWS]->(b2), (b1)-[:FRIEND]->(c), (b2)-[:FRIEND]->(b1), (a)-[:FOLLOWS]->(c)
      """
    When executing query:
      """
      MATCH (a:P)-[:KNOWS]->(b)-->(c) OPTIONAL MATCH (a)-[r:KNOWS]->(c) WITH c WHERE r IS NULL RETURN c.n
      """
    Then the result should be, in any order:
      | c.n |
      | 'c' |
    When executing control query:
      """
      MATCH (a:P)-[:KNOWS]->(b)-->(c) OPTIONAL MATCH (a)-[r:KNOWS]->(c) WITH c WHERE r IS NOT NULL RETURN c.n
      """
    Then the result should be, in any order:
      | c.n  |
      | 'b1' |
    When executing control query:
      """
      MATCH (a:P)-[:KNOWS]->(b:X)-->(c:Y) OPTIONAL MATCH (a)-[r:FOLLOWS|KNOWS]->(c) WITH c, r WHERE r IS NOT NULL RETURN c.n, type(r) AS t
      """
    Then the result should be, in any order:
      | c.n | t         |
      | 'c' | 'FOLLOWS' |

  Scenario: Existential subqueries, plain, with WHERE, negated
    Given an empty graph
    And having executed:
      """
      CREATE (a:A {p: 1})-[:R]->(b:B {p: 1}), (a)-[:R]->(:C {p: 2}), (a)-[:R]->(:D {p: 3})
      """
    When executing query:
      """
      MATCH (n) WHERE exists { (n)-->() } RETURN n
      """
    Then the result should be, in any order:
      | n             |
      | (:A {p: 1})   |
    When executing control query:
      """
      MATCH (n) WHERE exists { (n)-[r]->(m) WHERE n.p = m.p } RETURN n.p AS p
      """
    Then the result should be, in any order:
      | p |
      | 1 |
    When executing control query:
      """
      MATCH (n) WHERE NOT exists { MATCH (n)<--(m) WHERE m.p > 0 RETURN m } RETURN labels(n) AS l
      """
    Then the result should be, in any order:
      | l     |
      | ['A'] |

  Scenario: Pattern comprehensions
    Given an empty graph
    And having executed:
      """
      CREATE (a:A {n: 'a'})-[:T {k: 1}]->(:B {n: 'b'}), (a)-[:T {k: 2}]->(:C {n: 'c'}), (:A {n: 'd'})
      """
    When executing query:
      """
      MATCH (a:A) RETURN a.n AS n, [p = (a)-->() | length(p)] AS l, [(a)-[r]->(x:B) WHERE r.k = 1 | x.n] AS b, size([(a)-->(x) | 1]) AS s
      """
    Then the result should be, in any order:
      | n   | l      | b     | s |
      | 'a' | [1, 1] | ['b'] | 2 |
      | 'd' | []     | []    | 0 |
    When executing control query:
      """
      MATCH (a:A) WITH a, count([(a)-->(x) | x]) AS c RETURN a.n AS n, c
      """
    Then the result should be, in any order:
      | n   | c |
      | 'a' | 1 |
      | 'd' | 1 |

  Scenario Outline: Order by <o>
    Given any graph
    When executing query:
      """
      UNWIND <l> AS x WITH x ORDER BY x <o> RETURN collect(x) AS l, count(*) AS c
      """
    Then the result should be, in any order:
      | l   | c   |
      | <r> | <c> |

    Examples:
      | l | o | r | c |
      | [true, false] | ASC | [false, true] | 2 |
      | ['b', 'a', 'B', ''] | DESC | ['b', 'a', 'B', ''] | 4 |
      | [3, 1.5, 2, -1.0] | ASCENDING | [-1.0, 1.5, 2, 3] | 4 |
      | [[2], [1, 2], [], [1], [1, null]] | ASC | [[], [1], [1, 2], [1, null], [2]] | 5 |
      | [0.0 / 0.0, 1, null, 'a', true] | ASC | ['a', true, 1, NaN] | 5 |
      | [0.0 / 0.0, 1, null, 'a', true] | DESCENDING | [NaN, 1, true, 'a'] | 5 |
      | [date('2020-01-02'), date('2019-12-31'), date('-0001-01-01')] | ASC | ['-0001-01-01', '2019-12-31', '2020-01-02'] | 3 |
      | [time('10:00+01:00'), time('09:30Z'), time('12:00+05:00')] | ASC | ['12:00+05:00', '10:00+01:00', '09:30Z'] | 3 |

  Scenario: Order by an alias that shadows, and by the variable before the projection
    Given an empty graph
    And having executed:
      """
      UNWIND [[1, 3], [2, 2], [3, 1]] AS p CREATE (:N {a: p[0], b: p[1]})
      """
    When executing query:
      """
      MATCH (n:N) RETURN n.a AS a ORDER BY n.b
      """
    Then the result should be, in order:
      | a |
      | 3 |
      | 2 |
      | 1 |
    When executing control query:
      """
      MATCH (n:N) WITH n.b AS a, n.a AS b ORDER BY a SKIP 1 LIMIT 1 RETURN a, b
      """
    Then the result should be, in order:
      | a | b |
      | 2 | 2 |
    When executing control query:
      """
      MATCH (n:N) RETURN n.a % 2 AS k, count(*) AS c ORDER BY count(*) DESC, n.a % 2
      """
    Then the result should be, in order:
      | k | c |
      | 1 | 2 |
      | 0 | 1 |
    When executing control query:
      """
      MATCH (n:N) WITH n ORDER BY n.a DESC, n.b LIMIT toInteger(1.9) SET n.z = 1 RETURN n.a AS a
      """
    Then the result should be, in order:
      | a |
      | 3 |

  Scenario: Percentiles, distinct aggregates and nulls
    Given any graph
    When executing query:
      """
      UNWIND [10.0, 20.0, 30.0, null, 10.0] AS x
      RETURN percentileDisc(x, 0.0) AS a, percentileDisc(x, 0.5) AS b, percentileCont(x, 0.5) AS c, percentileCont(x, 1.0) AS d,
        count(DISTINCT x) AS e, collect(DISTINCT x) AS f, sum(DISTINCT x) AS g, avg(x) AS h, count(x) AS i, count(*) AS j
      """
    Then the result should be, in any order:
      | a    | b    | c    | d    | e | f                  | g    | h    | i | j |
      | 10.0 | 10.0 | 15.0 | 30.0 | 3 | [10.0, 20.0, 30.0] | 60.0 | 17.5 | 4 | 5 |

  Scenario: Named paths and variable length
    Given an empty graph
    And having executed:
      """
      CREATE (a:A {n: 1})-[:X]->(b:B {n: 2})-[:Y]->(c:C {n: 3}), (c)-[:X]->(a)
      """
    When executing query:
      """
      MATCH p = (:A)-[*1..2]->(e) RETURN [x IN nodes(p) | x.n] AS n, [r IN relationships(p) | type(r)] AS t, length(p) AS l
      """
    Then the result should be, in any order:
      | n         | t          | l |
      | [1, 2]    | ['X']      | 1 |
      | [1, 2, 3] | ['X', 'Y'] | 2 |
    When executing control query:
      """
      MATCH (a:A) OPTIONAL MATCH p = (a)-[r:X*2..]->(e) RETURN p, r, e, nodes(p) AS n, length(p) AS l
      """
    Then the result should be, in any order:
      | p    | r    | e    | n    | l    |
      | null | null | null | null | null |
    When executing control query:
      """
      MATCH (a:A)-[r:X|Y*0..1]-(e) RETURN e.n AS n, size(r) AS s
      """
    Then the result should be, in any order:
      | n | s |
      | 1 | 0 |
      | 2 | 1 |
      | 3 | 1 |
    When executing control query:
      """
      MATCH (a)-[r:X|Y*3]->(a) RETURN count(*) AS c
      """
    Then the result should be, in any order:
      | c |
      | 3 |

  Scenario Outline: Procedure calls: <q>
    Given an empty graph
    And there exists a procedure test.my.proc(in :: INTEGER?) :: (out :: STRING?, b :: INTEGER?):
      | in | out | b    |
      | 1  | 'x' | 1    |
      | 1  | 'y' | null |
      | 2  | 'z' | 2    |
    And parameters are:
      | in | 1 |
    When executing query:
      """
      <q>
      """
    Then the result should be, in order:
      | out | b    |
      | 'x' | 1    |
      | 'y' | null |

    Examples:
      | q |
      | CALL test.my.proc(1) |
      | CALL test.my.proc |
      | CALL test.my.proc(1) YIELD * |
      | CALL test.my.proc(1) YIELD out, b RETURN out, b |
      | CALL test.my.proc(1) YIELD out AS o, b AS c RETURN o AS out, c AS b ORDER BY out |
      | WITH 1 AS i CALL test.my.proc(i) YIELD out, b RETURN out, b |
      | UNWIND [1, 3] AS i CALL test.my.proc(i) YIELD b, out RETURN out, b |
      | CALL test.my.proc(1) YIELD out, b WITH out, b WHERE out < 'z' RETURN out, b ORDER BY out, b |

  Scenario Outline: Refused procedure calls: <q>
    Given an empty graph
    And there exists a procedure test.my.proc(in :: INTEGER?) :: (out :: STRING?, b :: INTEGER?):
      | in | out | b |
    When executing query:
      """
      <q>
      """
    Then a <type> should be raised at compile time: <detail>

    Examples:
      | q | type | detail |
      | CALL test.my.proc(1, 2) | SyntaxError | InvalidNumberOfArguments |
      | CALL test.my.proc() | SyntaxError | InvalidNumberOfArguments |
      | CALL test.my.proc(true) | SyntaxError | InvalidArgumentType |
      | CALL test.my.proc('1') | SyntaxError | InvalidArgumentType |
      | CALL test.my.proc(count(*)) | SyntaxError | InvalidAggregation |
      | WITH 'x' AS out CALL test.my.proc(1) YIELD out RETURN out | SyntaxError | VariableAlreadyBound |
      | CALL test.my.proc(1) YIELD out, b AS out RETURN out | SyntaxError | VariableAlreadyBound |
      | MATCH (n) CALL test.my.proc YIELD out RETURN out | SyntaxError | InvalidArgumentPassingMode |
      | CALL test.my.proc | ParameterMissing | MissingParameter |
