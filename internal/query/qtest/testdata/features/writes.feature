Feature: Writes and patterns in combination

  Scenario: A relationship merged in either direction is found, made to the right
    Given an empty graph
    And having executed:
      """
      CREATE (:A {n: 1}), (:B {n: 2})
      """
    When executing query:
      """
      MATCH (a:A), (b:B) MERGE (b)-[r:R]-(a) RETURN startNode(r).n AS s, endNode(r).n AS e
      """
    Then the result should be, in any order:
      | s | e |
      | 2 | 1 |
    And the side effects should be:
      | +relationships | 1 |
    When executing control query:
      """
      MATCH (a:A), (b:B) MERGE (a)-[r:R]-(b) RETURN startNode(r).n AS s, count(*) AS c
      """
    Then the result should be, in any order:
      | s | c |
      | 2 | 1 |

  Scenario: Merging a pattern makes the whole of it
    Given an empty graph
    And having executed:
      """
      CREATE (:A {n: 1})-[:X]->(:B {n: 1})
      """
    When executing query:
      """
      MERGE (a:A {n: 1})-[:X]->(b:B {n: 2}) RETURN a.n, b.n
      """
    Then the result should be, in any order:
      | a.n | b.n |
      | 1   | 2   |
    And the side effects should be:
      | +nodes         | 2 |
      | +relationships | 1 |
      | +properties    | 2 |

  Scenario: Merging sees what its own earlier rows made
    Given an empty graph
    When executing query:
      """
      UNWIND ['a', 'b', 'a', 'b', 'a'] AS k
      MERGE (n:K {k: k}) ON CREATE SET n.c = 1 ON MATCH SET n.c = n.c + 1
      RETURN DISTINCT n.k AS k, n.c AS c ORDER BY k
      """
    Then the result should be, in order:
      | k   | c |
      | 'a' | 3 |
      | 'b' | 2 |
    And the side effects should be:
      | +nodes      | 2 |
      | +labels     | 1 |
      | +properties | 4 |

  Scenario: Merging with several bound rows and a loop
    Given an empty graph
    And having executed:
      """
      CREATE (:P {n: 1}), (:P {n: 2})
      """
    When executing query:
      """
      MATCH (p:P) MERGE (p)-[r:SELF]->(p) RETURN count(r) AS c
      """
    Then the result should be, in any order:
      | c |
      | 2 |
    And the side effects should be:
      | +relationships | 2 |
    When executing control query:
      """
      MATCH (p:P)-[r:SELF]-(q) RETURN p.n AS p, q.n AS q
      """
    Then the result should be, in any order:
      | p | q |
      | 1 | 1 |
      | 2 | 2 |

  Scenario: Merging a named path
    Given an empty graph
    When executing query:
      """
      MERGE p = (:A {n: 1})-[:R]->(:B) RETURN p
      """
    Then the result should be, in any order:
      | p                          |
      | <(:A {n: 1})-[:R]->(:B)>   |
    And the side effects should be:
      | +nodes         | 2 |
      | +relationships | 1 |
      | +labels        | 2 |
      | +properties    | 1 |

  Scenario: Deleting the nodes of a path, a map and a list
    Given an empty graph
    And having executed:
      """
      CREATE (:A)-[:R]->(:B)-[:R]->(:C), (:D), (:E), (:E)
      """
    When executing query:
      """
      MATCH p = (:A)-->()-->(), (d:D) MATCH (e:E) WITH p, {k: {d: d}} AS m, collect(e) AS l
      DETACH DELETE p, m.k.d, l[1], l[0]
      """
    Then the result should be empty
    And the side effects should be:
      | -nodes         | 6 |
      | -relationships | 2 |
      | -labels        | 5 |

  Scenario: A connected node cannot be deleted, and nothing of the statement stays
    Given an empty graph
    And having executed:
      """
      CREATE (:A {x: 1})-[:R]->(:B)
      """
    When executing query:
      """
      MATCH (a:A) SET a.x = 2 CREATE (:C) DELETE a
      """
    Then a ConstraintVerificationFailed should be raised at runtime: DeleteConnectedNode
    When executing control query:
      """
      MATCH (n) RETURN n
      """
    Then the result should be, in any order:
      | n           |
      | (:A {x: 1}) |
      | (:B)        |

  Scenario Outline: Reading <e> of what is deleted
    Given an empty graph
    And having executed:
      """
      CREATE (:A {x: 1})-[:R {x: 1}]->(:B)
      """
    When executing query:
      """
      MATCH (a:A)-[r]->() DETACH DELETE a RETURN <e> AS v
      """
    Then a EntityNotFound should be raised at runtime: DeletedEntityAccess

    Examples:
      | e |
      | a.x |
      | labels(a) |
      | r.x |
      | a:A |
      | keys(a) |
      | properties(r) |

  Scenario: The type of a deleted relationship is known
    Given an empty graph
    And having executed:
      """
      CREATE ()-[:R {x: 1}]->()
      """
    When executing query:
      """
      MATCH ()-[r]->() DELETE r RETURN type(r) AS t, count(r) AS c
      """
    Then the result should be, in any order:
      | t   | c |
      | 'R' | 1 |
    And the side effects should be:
      | -relationships | 1 |
      | -properties    | 1 |

  Scenario: Creating several parts that share variables
    Given an empty graph
    When executing query:
      """
      CREATE (a:A {n: 1}), (b:B {n: a.n + 1}), (a)-[r:R {s: a.n + b.n}]->(b), (b)<-[:S]-(a), (c)-[:T]->(c)
      RETURN r.s AS s
      """
    Then the result should be, in any order:
      | s |
      | 3 |
    And the side effects should be:
      | +nodes         | 3 |
      | +relationships | 3 |
      | +labels        | 2 |
      | +properties    | 3 |

  Scenario: Create between matched nodes, one relationship a row
    Given an empty graph
    And having executed:
      """
      CREATE (:X), (:X), (:Y)
      """
    When executing query:
      """
      MATCH (x:X), (y:Y) CREATE (x)<-[:R]-(y)-[:S]->() RETURN count(*) AS c
      """
    Then the result should be, in any order:
      | c |
      | 2 |
    And the side effects should be:
      | +nodes         | 2 |
      | +relationships | 4 |

  Scenario: A map replaces and adds
    Given an empty graph
    And having executed:
      """
      CREATE (:A {x: 1, y: 2}), (:B {x: 1, y: 2})
      """
    When executing query:
      """
      MATCH (a:A), (b:B) SET a = {y: 2, z: null, w: 'n'}, b += {x: null, y: 3, z: 4} RETURN a, b
      """
    Then the result should be, in any order:
      | a                   | b                |
      | (:A {y: 2, w: 'n'}) | (:B {y: 3, z: 4}) |
    And the side effects should be:
      | +properties | 3 |
      | -properties | 3 |

  Scenario: Swapping properties in one clause goes item by item
    Given an empty graph
    And having executed:
      """
      CREATE (:A {x: 1, y: 2})
      """
    When executing query:
      """
      MATCH (a:A) SET a.x = a.y, a.y = a.x RETURN a.x, a.y
      """
    Then the result should be, in any order:
      | a.x | a.y |
      | 2   | 2   |
    And the side effects should be:
      | +properties | 1 |
      | -properties | 1 |

  Scenario: Matching fixed lists of relationships
    Given an empty graph
    And having executed:
      """
      CREATE (a:A)-[:R {i: 1}]->(b:B)-[:R {i: 2}]->(c:C)
      """
    When executing query:
      """
      MATCH (:A)-[r1]->()-[r2]->(:C) WITH [r1, r2] AS rs MATCH (x)-[rs*]->(y) RETURN labels(x) AS x, labels(y) AS y
      """
    Then the result should be, in any order:
      | x     | y     |
      | ['A'] | ['C'] |
    When executing control query:
      """
      MATCH (:A)-[r1]->()-[r2]->(:C) WITH [r1, r2] AS rs MATCH (x)<-[rs*]-(y) RETURN labels(x) AS x
      """
    Then the result should be, in any order:
      | x |

  Scenario Outline: Optional match <p>
    Given an empty graph
    And having executed:
      """
      CREATE (s:Single)-[:REL]->(a:A {num: 42})-[:REL]->(c:C), (s)-[:REL]->(b:B {num: 46}), (a)-[:LOOP]->(a)
      """
    When executing query:
      """
      <p>
      """
    Then the result should be, in any order:
      | v   |
      | <v> |

    Examples:
      | p | v |
      | MATCH (s:Single) OPTIONAL MATCH (s)-[r]-(m) WHERE m.num = 42 RETURN m.num AS v | 42 |
      | MATCH (s:Single) OPTIONAL MATCH (s)-[r]-(m) WHERE m.num > 100 RETURN m AS v | null |
      | MATCH (s:Single) OPTIONAL MATCH (s)-[:NOPE]->(m) OPTIONAL MATCH (m)-->(x) RETURN x AS v | null |
      | MATCH (a:A), (c:C) OPTIONAL MATCH (a)-->(b)-->(c) RETURN b.num AS v | 42 |
      | OPTIONAL MATCH (n:Nope) RETURN count(n) AS v | 0 |
      | OPTIONAL MATCH (n:Nope) WITH n MATCH (n)-->(m) RETURN count(*) AS v | 0 |
      | MATCH (s:Single), (x) WHERE x.num > 42 OPTIONAL MATCH (s)-[r:REL]->(x) RETURN type(r) AS v | 'REL' |
      | MATCH (a:A) OPTIONAL MATCH (a)-[r:LOOP]-(a) RETURN count(r) AS v | 1 |
      | MATCH (s:Single) OPTIONAL MATCH (s)-[*3..3]->(x) RETURN labels(x) AS v | ['C'] |
      | MATCH (b:B) OPTIONAL MATCH p = (b)-[*2]-(x:C) RETURN p AS v | null |
      | MATCH (b:B) OPTIONAL MATCH p = (b)-[*3]-(x:C) RETURN length(p) AS v | 3 |
      | MATCH (s:Single) OPTIONAL MATCH (s)--(m) WITH s, collect(m.num) AS l RETURN size(l) AS v | 2 |
      | MATCH (s) WHERE NOT (s)--() RETURN count(*) AS v | 0 |
      | MATCH (s:Single) WHERE (s)-->(:A)-->(:C) AND NOT (s)-->(:C) RETURN count(*) AS v | 1 |
      | MATCH (n)-[:REL*0]->(m) WHERE n = m RETURN count(*) AS v | 4 |
      | MATCH (n)-->(m), (m)-->(n) RETURN count(*) AS v | 0 |
      | MATCH (n)-[r]-(m) RETURN count(DISTINCT r) AS v | 4 |
      | MATCH (n)-[r]-(m) RETURN count(r) AS v | 7 |
      | MATCH (a:A), (b) RETURN count(*) AS v | 4 |
      | MATCH (a)-[r]->(b) WHERE type(r) = 'REL' AND b.num IS NULL RETURN labels(b)[0] AS v | 'C' |

  Scenario Outline: Aggregates and grouping: <p>
    Given an empty graph
    And having executed:
      """
      CREATE (:N {a: 1, b: 'x'}), (:N {a: 2, b: 'x'}), (:N {a: 3, b: 'y'}), (:N {b: 'y'})
      """
    When executing query:
      """
      <p>
      """
    Then the result should be, in any order:
      | v   |
      | <v> |

    Examples:
      | p | v |
      | MATCH (n:N) WITH n.b AS b, sum(n.a) AS s ORDER BY b RETURN collect([b, s]) AS v | [['x', 3], ['y', 3]] |
      | MATCH (n:N) RETURN count(n.a) + count(*) AS v | 7 |
      | MATCH (n:N) RETURN min(n.a) + max(n.a) AS v | 4 |
      | MATCH (n:N) RETURN avg(n.a) AS v | 2.0 |
      | MATCH (n:N) WITH {b: n.b} AS m, count(*) AS c WITH m.b AS b, c ORDER BY b RETURN collect(c) AS v | [2, 2] |
      | MATCH (n:N) RETURN size(collect(DISTINCT n.b)) AS v | 2 |
      | MATCH (n:N {b: 'z'}) RETURN sum(n.a) AS v | 0 |
      | MATCH (n:N {b: 'z'}) RETURN max(n.a) AS v | null |
      | MATCH (n:N {b: 'z'}) RETURN collect(n) AS v | [] |
      | UNWIND [1, 'a', null, [1, 2], 0.2, 'b'] AS x RETURN max(x) AS v | 1 |
      | UNWIND [1, 'a', null, [1, 2], 0.2, 'b'] AS x RETURN min(x) AS v | [1, 2] |
      | UNWIND [[2], [2, 1], [1, 3], null] AS x RETURN max(x) AS v | [2, 1] |
      | UNWIND ['c', 'B', 'a', ''] AS x RETURN min(x) AS v | '' |
      | UNWIND [1, 2.0] AS x RETURN sum(x) AS v | 3.0 |
      | UNWIND [0.0 / 0.0, 1, 2] AS x RETURN max(x) AS v | NaN |
      | UNWIND [0.0 / 0.0, 0.0 / 0.0, null, null, 1, 1.0] AS x WITH DISTINCT x RETURN count(*) AS v | 3 |
      | UNWIND [1, 1, 2] AS x WITH x, count(*) AS c WHERE c > 1 RETURN x AS v | 1 |
      | UNWIND [3, 1, 2] AS x WITH x ORDER BY x DESC LIMIT 2 RETURN sum(x) AS v | 5 |
      | UNWIND [3, 1, 2] AS x WITH x ORDER BY x SKIP 2 RETURN x AS v | 3 |
      | WITH [1, 2, 3] AS l UNWIND l AS x WITH l, x WHERE x = size(l) RETURN x AS v | 3 |
      | WITH 1 AS a WITH a + 1 AS a WITH a + 1 AS a RETURN a AS v | 3 |
      | MATCH (n:N) WITH n.b AS b, count(*) + 1 AS c WHERE b = 'x' RETURN c AS v | 3 |

  Scenario: Overflow of a sum is an error
    Given any graph
    When executing query:
      """
      UNWIND [9223372036854775807, 1] AS x RETURN sum(x) AS v
      """
    Then a ArithmeticError should be raised at runtime: *

  Scenario: Two bound ends and two parts joined over a property
    Given an empty graph
    And having executed:
      """
      CREATE (:A {k: 1}), (:A {k: 2}), (:B {k: 1}), (:B {k: 1.0}), (:B)
      """
    When executing query:
      """
      MATCH (a:A), (b:B) WHERE a.k = b.k RETURN a.k AS a, b.k AS b
      """
    Then the result should be, in any order:
      | a | b   |
      | 1 | 1   |
      | 1 | 1.0 |
    When executing control query:
      """
      MATCH (a:A) OPTIONAL MATCH (b:B) WHERE b.k = a.k WITH a, count(b) AS c RETURN a.k AS a, c
      """
    Then the result should be, in any order:
      | a | c |
      | 1 | 2 |
      | 2 | 0 |
