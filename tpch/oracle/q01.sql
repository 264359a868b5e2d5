-- [let chosen]
SELECT * FROM lineitem WHERE l_shipdate <= DATE '1998-09-02'

-- [output]
SELECT
  l_returnflag,
  l_linestatus,
  sum(l_quantity),
  sum(l_extendedprice),
  sum(l_extendedprice * (1 - l_discount)),
  sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)),
  mean_of_cents(sum(l_quantity), count(l_quantity)),
  mean_of_cents(sum(l_extendedprice), count(l_extendedprice)),
  mean_of_cents(sum(l_discount), count(l_discount)),
  count(*)
FROM chosen
GROUP BY l_returnflag, l_linestatus

-- [pairs]
SELECT output.*, chosen.row_id AS lineitem_1
FROM output JOIN chosen
  ON output.l_returnflag IS NOT DISTINCT FROM chosen.l_returnflag
  AND output.l_linestatus IS NOT DISTINCT FROM chosen.l_linestatus
