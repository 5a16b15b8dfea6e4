Feature: Expressions

  Scenario Outline: <e> is <v>
    Given any graph
    When executing query:
      """
      RETURN <e> AS v
      """
    Then the result should be, in any order:
      | v   |
      | <v> |
    And no side effects

    # List slices and indexes
    Examples:
      | e | v |
      | [1, 2, 3, 4, 5][1..3] | [2, 3] |
      | [1, 2, 3][1..] | [2, 3] |
      | [1, 2, 3][..2] | [1, 2] |
      | [1, 2, 3][0..1] | [1] |
      | [1, 2, 3][0..0] | [] |
      | [1, 2, 3][-3..-1] | [1, 2] |
      | [1, 2, 3][3..1] | [] |
      | [1, 2, 3][-5..5] | [1, 2, 3] |
      | [1, 2, 3][null..2] | null |
      | [1, 2, 3][1..null] | null |
      | [1, 2, 3][..null] | null |
      | null[1..2] | null |
      | [][0..10] | [] |
      | [[1], [2, 3]][1][0..1] | [2] |
      | size([1, 2][5..9]) | 0 |

    # range()
    Examples:
      | e | v |
      | range(0, 3) | [0, 1, 2, 3] |
      | range(3, 0) | [] |
      | range(3, 0, -1) | [3, 2, 1, 0] |
      | range(0, 10, 3) | [0, 3, 6, 9] |
      | range(0, -10, -3) | [0, -3, -6, -9] |
      | range(1, 1, -1) | [1] |
      | range(0, 1, -1) | [] |
      | range(0, -1) | [] |
      | range(-9223372036854775808, -9223372036854775807) | [-9223372036854775808, -9223372036854775807] |
      | range(9223372036854775806, 9223372036854775807) | [9223372036854775806, 9223372036854775807] |
      | range(9223372036854775800, 9223372036854775807, 5) | [9223372036854775800, 9223372036854775805] |
      | range(-9223372036854775800, -9223372036854775808, -7) | [-9223372036854775800, -9223372036854775807] |

    # Concatenation, comprehension, reduction
    Examples:
      | e | v |
      | [1] + [2, 3] + 4 | [1, 2, 3, 4] |
      | 0 + [1] | [0, 1] |
      | [1] + null | null |
      | [1] + [null] | [1, null] |
      | [[1]] + [2] | [[1], 2] |
      | [x IN [1, 2, 3] WHERE x > 1 \| x * 10] | [20, 30] |
      | [x IN [1, null, 3] WHERE x > 1] | [3] |
      | [x IN null \| x] | null |
      | [x IN [] WHERE true] | [] |
      | [x IN [1, 2] \| [y IN [x, x + 1] \| x * y]] | [[1, 2], [4, 6]] |
      | [1, 'a', 2.5, null, true][3] | null |

    # IN, equality and null
    Examples:
      | e | v |
      | 1 IN [] | false |
      | null IN [] | false |
      | null IN [null] | null |
      | 1 IN [null, 1] | true |
      | 2 IN [null, 1] | null |
      | [1, null] IN [[1, null]] | null |
      | [1, 2] IN [[1, null], [1, 2]] | true |
      | [1] IN [[1, null]] | false |
      | 1 IN null | null |
      | [null] = [null] | null |
      | [1, null] = [2, null] | false |
      | [1, null] = [1] | false |
      | {a: 1, b: null} = {a: 1, b: null} | null |
      | {a: 1} = {a: 1, b: null} | false |
      | {a: 1} = {a: 1.0} | true |
      | {a: 1, b: null} = {a: 2, b: null} | false |
      | {} = {} | true |
      | NOT null | null |
      | null = null | null |
      | null <> null | null |
      | null IS NULL | true |
      | 1 IS NOT NULL | true |
      | null XOR true | null |
      | false AND null | false |
      | true OR null | true |
      | 1 = '1' | false |
      | 1 <> '1' | true |
      | 1 < 'a' | null |
      | true < 1 | null |
      | [1] < [2] | true |
      | [1, 2] < [1] | false |
      | [1] < [1, null] | true |
      | [1, null] < [1, 2] | null |
      | [1, null] >= [1, null] | null |
      | [1, 2] >= [1, null] | null |
      | 1 < 2 < 3 | true |
      | 1 < 3 < 2 | false |
      | 1 < 2 = true | false |
      | 1 < 2 < 'a' | null |
      | 2 < 1 < 'a' | false |

    # NaN and infinity
    Examples:
      | e | v |
      | 0.0 / 0.0 | NaN |
      | 0.0 / 0.0 = 0.0 / 0.0 | false |
      | 0.0 / 0.0 <> 0.0 / 0.0 | true |
      | 0.0 / 0.0 < 1 | false |
      | 0.0 / 0.0 >= 1 | false |
      | 0.0 / 0.0 < 'a' | null |
      | 1.0 / 0.0 > 9223372036854775807 | true |
      | 9007199254740993 = 9007199254740992.0 | false |
      | 9007199254740993 > 9007199254740992.0 | true |
      | 0.0 = -0.0 | true |
      | 0.0 / 0.0 IN [0.0 / 0.0] | false |

    # Arithmetic
    Examples:
      | e | v |
      | 7 / 2 | 3 |
      | -7 / 2 | -3 |
      | -7 % 3 | -1 |
      | 7 % -3 | 1 |
      | 7.5 % 2 | 1.5 |
      | 2 ^ 3 | 8.0 |
      | -2 ^ 2 | 4.0 |
      | 2 ^ 3 ^ 2 | 64.0 |
      | 1 - -1 | 2 |
      | 4 * 2 + 3 % 2 | 9 |
      | 12 / 4 * 3 - 2 * 4 | 1 |
      | 12 / 4 * (3 - 2 * 4) | -15 |
      | 1 + null | null |
      | 'a' + 1 | 'a1' |
      | 1.5 + 1 | 2.5 |
      | -9223372036854775808 | -9223372036854775808 |
      | 0x7FFFFFFFFFFFFFFF | 9223372036854775807 |
      | -0x8000000000000000 | -9223372036854775808 |
      | 0o777 | 511 |
      | -0o17 | -15 |
      | 0xff | 255 |
      | 1e-5 | 0.00001 |
      | .1e2 | 10.0 |
      | 1E3 | 1000.0 |

    # CASE and coalesce
    Examples:
      | e | v |
      | CASE 1 WHEN 1 THEN 'a' ELSE 'b' END | 'a' |
      | CASE null WHEN null THEN 'a' ELSE 'b' END | 'b' |
      | CASE WHEN null THEN 'a' END | null |
      | CASE 1 WHEN 1.0 THEN 'a' END | 'a' |
      | coalesce(null, null, 3, 4) | 3 |
      | coalesce(null) | null |
      | coalesce('a', 1) | 'a' |
      | coalesce([], 1) | [] |

    # Maps
    Examples:
      | e | v |
      | {a: 1}['a'] | 1 |
      | {a: 1}['A'] | null |
      | {a: 1}[null] | null |
      | null['a'] | null |
      | {a: {b: {c: 5}}}.a.b.c | 5 |
      | {a: null}.a | null |
      | {`a b`: 1}['a b'] | 1 |
      | {a: 1, b: [1, {c: 2}]}.b[1].c | 2 |
      | size(keys({a: null, b: 1})) | 2 |
      | keys({}) | [] |
      | keys(null) | null |
      | {null: 1}.null | 1 |
      | {return: 2}['return'] | 2 |

    # Strings
    Examples:
      | e | v |
      | substring('0123456789', 1) | '123456789' |
      | substring('hello', 1, 2) | 'el' |
      | substring('hello', 9) | '' |
      | substring('hello', 0, 99) | 'hello' |
      | split('one1two', '1') | ['one', 'two'] |
      | split('a,b,', ',') | ['a', 'b', ''] |
      | split(null, ',') | null |
      | reverse('raksO') | 'Oskar' |
      | toUpper('süß') STARTS WITH 'SÜ' | true |
      | 'abc' STARTS WITH '' | true |
      | 'abc' STARTS WITH null | null |
      | 1 STARTS WITH 'a' | null |
      | 'abc' CONTAINS 'bc' | true |
      | 'abc' CONTAINS 'BC' | false |
      | 'abc' ENDS WITH 'abc' | true |
      | 'ab\nc' ENDS WITH '\nc' | true |
      | NOT 'abc' CONTAINS 'x' | true |
      | size('\u01F4A9') | 3 |
      | trim('  a ') | 'a' |
      | replace('aaa', 'a', 'bb') | 'bbbbbb' |
      | left('ab', 5) | 'ab' |
      | right('abc', 2) | 'bc' |
      | 'it\'s' | 'it\'s' |
      | "say 'x'" | 'say \'x\'' |
      | size('\\\\') | 1 |

    # Conversions
    Examples:
      | e | v |
      | toInteger('82.9') | 82 |
      | toInteger('foo') | null |
      | toInteger(-2.9) | -2 |
      | toInteger(null) | null |
      | toInteger('') | null |
      | toFloat('5') | 5.0 |
      | toFloat('1e3') | 1000.0 |
      | toFloat('.5') | 0.5 |
      | toFloat('x') | null |
      | toFloat(3) | 3.0 |
      | toBoolean('TRUE') | true |
      | toBoolean('tru') | null |
      | toBoolean(' ') | null |
      | toString(42) | '42' |
      | toString(1.0) | '1.0' |
      | toString(true) | 'true' |
      | toString(1e20) | '1e+20' |
      | toString(date('2020-02-29')) | '2020-02-29' |
      | [x IN [1, 2.5, '3', 'x'] \| toFloat(x)] | [1.0, 2.5, 3.0, null] |

    # Mathematical functions
    Examples:
      | e | v |
      | abs(-1) | 1 |
      | abs(-1.5) | 1.5 |
      | ceil(1.1) | 2.0 |
      | ceil(-1.9) | -1.0 |
      | floor(-1.1) | -2.0 |
      | sign(-3) | -1 |
      | sign(0.0) | 0 |
      | sqrt(12.96) | 3.6 |
      | round(2.5) | 3.0 |
      | round(-2.5) | -2.0 |
      | round(1.25, 1) | 1.3 |
      | exp(0) | 1.0 |
      | log(1) | 0.0 |
      | sqrt(-1) | NaN |

    # Quantifiers
    Examples:
      | e | v |
      | none(x IN [] WHERE true) | true |
      | single(x IN [] WHERE true) | false |
      | any(x IN [] WHERE true) | false |
      | all(x IN [] WHERE false) | true |
      | none(x IN [null] WHERE x = 1) | null |
      | none(x IN [null, 1] WHERE x = 1) | false |
      | single(x IN [1, null] WHERE x = 1) | null |
      | single(x IN [1, 1, null] WHERE x = 1) | false |
      | single(x IN [1, 2, 3] WHERE x = 2) | true |
      | any(x IN [null, 1] WHERE x = 1) | true |
      | any(x IN [null, 2] WHERE x = 1) | null |
      | all(x IN [null, 1] WHERE x = 1) | null |
      | all(x IN [null, 2] WHERE x = 1) | false |
      | all(x IN null WHERE x = 1) | null |
      | any(x IN [[1], [2]] WHERE any(y IN x WHERE y = 2)) | true |
      | all(x IN [{a: 1}, {a: 2}] WHERE x.a > 0) | true |
      | none(x IN ['ab', 'c'] WHERE size(x) = 3) | true |
      | (NOT any(x IN [1, null] WHERE x = 2)) = none(x IN [1, null] WHERE x = 2) | null |
      | all(x IN [] WHERE x.a.b.c) | true |

    # Precedence
    Examples:
      | e | v |
      | true OR true XOR true | true |
      | true XOR true AND false | true |
      | NOT false AND false | false |
      | NOT (false AND false) | true |
      | NOT 1 = 2 | true |
      | 1 + 2 IN [3] | true |
      | [1] + 2 IN [[1, 2]] | true |
      | 'a' + 'b' STARTS WITH 'a' | true |
      | null IS NULL = true | true |
      | NOT null IS NULL | false |
      | 1 IS NULL OR true | true |
      | -[1, 2][0] | -1 |
      | 2 * -3 | -6 |
      | 5 - 2 - 1 | 2 |
      | 8 / 4 / 2 | 1 |
      | -(1) ^ 2 | 1.0 |
      | 1 = 1 = 1 | true |
      | 'x' IN ['x'] AND NOT 'y' IN ['x'] | true |

  Scenario Outline: <e> is raised as <type> at <phase>: <detail>
    Given any graph
    When executing query:
      """
      <e>
      """
    Then a <type> should be raised at <phase>: <detail>

    Examples:
      | e | type | phase | detail |
      | RETURN 9223372036854775808 AS v | SyntaxError | compile time | IntegerOverflow |
      | RETURN -9223372036854775809 AS v | SyntaxError | compile time | IntegerOverflow |
      | RETURN 0x8000000000000000 AS v | SyntaxError | compile time | IntegerOverflow |
      | RETURN 1.34E999 AS v | SyntaxError | compile time | FloatingPointOverflow |
      | RETURN 0x1g AS v | SyntaxError | compile time | InvalidNumberLiteral |
      | RETURN 0x AS v | SyntaxError | compile time | InvalidNumberLiteral |
      | RETURN 9223372h54775808 AS v | SyntaxError | compile time | InvalidNumberLiteral |
      | RETURN 0o8 AS v | SyntaxError | compile time | InvalidNumberLiteral |
      | RETURN '\uH' AS v | SyntaxError | compile time | InvalidUnicodeLiteral |
      | RETURN 42 — 41 AS v | SyntaxError | compile time | InvalidUnicodeCharacter |
      | RETURN range(1, 3, 0) AS v | ArgumentError | runtime | NumberOutOfRange |
      | RETURN range(true, 3) AS v | SyntaxError | compile time | InvalidArgumentType |
      | RETURN 1 IN 'a' AS v | SyntaxError | compile time | InvalidArgumentType |
      | RETURN 1 AND true AS v | SyntaxError | compile time | InvalidArgumentType |
      | RETURN NOT 0 AS v | SyntaxError | compile time | InvalidArgumentType |
      | RETURN NOT '' AS v | SyntaxError | compile time | InvalidArgumentType |
      | RETURN NOT [] AS v | SyntaxError | compile time | InvalidArgumentType |
      | RETURN NOT {} AS v | SyntaxError | compile time | InvalidArgumentType |
      | RETURN 'a' XOR false AS v | SyntaxError | compile time | InvalidArgumentType |
      | RETURN unknownFn(1) AS v | SyntaxError | compile time | UnknownFunction |
      | RETURN foo AS v | SyntaxError | compile time | UndefinedVariable |
      | RETURN [x IN [1] WHERE count(*) > 0] AS v | SyntaxError | compile time | InvalidAggregation |
      | WITH [1] AS list UNWIND list AS x RETURN toBoolean([]) AS v | TypeError | runtime | InvalidArgumentValue |
      | UNWIND [[], {}] AS x RETURN toInteger(x) AS v | TypeError | runtime | InvalidArgumentValue |
      | UNWIND [true, []] AS x RETURN toFloat(x) AS v | TypeError | runtime | InvalidArgumentValue |
      | UNWIND [{}] AS x RETURN toString(x) AS v | TypeError | runtime | InvalidArgumentValue |
      | WITH [1, 2] AS l, 'x' AS i RETURN l[i] AS v | TypeError | any time | * |
      | WITH [1, 2] AS l, 1.5 AS i RETURN l[i] AS v | TypeError | any time | * |
      | WITH {a: 1} AS m, 1 AS i RETURN m[i] AS v | TypeError | any time | * |
      | WITH 1 AS m RETURN m['a'] AS v | TypeError | any time | * |
      | WITH 123 AS m RETURN m.a AS v | TypeError | any time | * |
      | RETURN any(x IN ['Clara'] WHERE x % 2 = 0) AS v | SyntaxError | compile time | InvalidArgumentType |
      | RETURN none(x IN [false] WHERE x % 2 = 0) AS v | SyntaxError | compile time | InvalidArgumentType |
      | MATCH p = (n) RETURN size(p) AS v | SyntaxError | compile time | InvalidArgumentType |
      | MATCH (n) RETURN size((n)--()) AS v | SyntaxError | compile time | UnexpectedSyntax |
      | MATCH (n) RETURN length(n) AS v | SyntaxError | compile time | InvalidArgumentType |
      | MATCH ()-[r]-() RETURN length(r) AS v | SyntaxError | compile time | InvalidArgumentType |
      | MATCH (n) RETURN type(n) AS v | SyntaxError | compile time | InvalidArgumentType |
      | MATCH p = () RETURN labels(p) AS v | SyntaxError | compile time | InvalidArgumentType |
      | RETURN {k1: k2} AS v | SyntaxError | compile time | UndefinedVariable |
      | RETURN [1, 2 | SyntaxError | compile time | UnexpectedSyntax |
      | RETURN {1: 2} AS v | SyntaxError | compile time | UnexpectedSyntax |
      | RETURN {, } AS v | SyntaxError | compile time | UnexpectedSyntax |
      | RETURN [, 1] AS v | SyntaxError | compile time | UnexpectedSyntax |
      | RETURN [1, , 2] AS v | SyntaxError | compile time | UnexpectedSyntax |
      | RETURN {k: 1, k2} AS v | SyntaxError | compile time | UnexpectedSyntax |
