-- [let joined]
SELECT
  n1.n_name AS supp_nation, n2.n_name AS cust_nation, year(l_shipdate) AS l_year,
  l_extendedprice * (1 - l_discount) AS volume,
  supplier.row_id AS supplier_1, lineitem.row_id AS lineitem_1, orders.row_id AS orders_1,
  customer.row_id AS customer_1, n1.row_id AS nation_1, n2.row_id AS nation_2
FROM supplier
JOIN nation n1 ON n1.n_nationkey = s_nationkey
JOIN lineitem ON l_suppkey = s_suppkey
JOIN orders ON o_orderkey = l_orderkey
JOIN customer ON c_custkey = o_custkey
JOIN nation n2 ON n2.n_nationkey = c_nationkey
WHERE (n1.n_name, n2.n_name) IN (('FRANCE', 'GERMANY'), ('GERMANY', 'FRANCE'))
  AND year(l_shipdate) IN (1995, 1996)

-- [output]
SELECT supp_nation, cust_nation, l_year, sum(volume)
FROM joined
GROUP BY supp_nation, cust_nation, l_year

-- [pairs]
SELECT output.*, supplier_1, lineitem_1, orders_1, customer_1, nation_1, nation_2
FROM output JOIN joined USING (supp_nation, cust_nation, l_year)
