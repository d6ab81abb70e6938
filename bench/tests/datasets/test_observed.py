from numpy.testing import assert_allclose, assert_array_equal

from censquant_bench.datasets import fetch_housing, fetch_protein, fetch_wine

WINE = (
    '"fixed acidity";"volatile acidity";"citric acid";"residual sugar";"chlorides";'
    '"free sulfur dioxide";"total sulfur dioxide";"density";"pH";"sulphates";"alcohol";"quality"\n'
)
BOTTLE = "7;0.7;0;1.9;0.076;11;34;0.9978;3.51;0.56;9.4"


def test_housing_has_the_features_of_scikit_learn_in_their_order(folder):
    text = (
        "longitude,latitude,housing_median_age,total_rooms,total_bedrooms,population,households,"
        "median_income,median_house_value\n"
        "-122.230000,37.880000,41.000000,880.000000,129.000000,322.000000,126.000000,8.325200,"
        "452600.000000\n"
    )
    folder.add("housing/cal_housing.data", text)
    data = fetch_housing(return_X_y=False)
    # The first row as scikit-learn's documentation prints it.
    first = {
        "MedInc": 8.3252,
        "HouseAge": 41.0,
        "AveRooms": 6.984127,
        "AveBedrms": 1.023810,
        "Population": 322.0,
        "AveOccup": 2.555556,
        "Latitude": 37.88,
        "Longitude": -122.23,
    }
    assert data.feature_names == tuple(first) == tuple(data.data.columns)
    assert_allclose(data.data.to_numpy(), [list(first.values())], rtol=1e-6)
    assert data.target.tolist() == [(True, 4.526)]
    assert data.groups is None


def test_protein_has_its_target_in_the_first_column(folder):
    header = '"RMSD",' + ",".join(f'"F{i}"' for i in range(1, 10))
    rows = ["17.284,1,2,3,4,5,6,7,8,9", "6,9,8,7,6,5,4,3,2,1", "17.284,1,2,3,4,5,6,7,8,9"]
    folder.add("protein/CASP.csv", "\n".join([header, *rows]) + "\n")
    data = fetch_protein(return_X_y=False, as_frame=False)
    assert data.feature_names == tuple(f"F{i}" for i in range(1, 10))
    assert_array_equal(data.data[0], range(1, 10))
    assert_array_equal(data.target["time"], [17.284, 6.0, 17.284])
    assert data.target["event"].all()
    assert data.groups[0] == data.groups[2] != data.groups[1]


def test_red_wines_come_before_white_ones_and_copies_are_found_across(folder):
    folder.add("wine/winequality-red.csv", f"{WINE}{BOTTLE};5\n{BOTTLE};6\n")
    folder.add("wine/winequality-white.csv", f"{WINE}{BOTTLE};5\n")
    data = fetch_wine(return_X_y=False)
    assert data.data.shape == (3, 11)
    assert data.feature_names[0] == "fixed acidity"
    assert data.feature_names[-1] == "alcohol"
    assert_array_equal(data.target["time"], [5, 6, 5])
    assert data.groups[0] == data.groups[2] != data.groups[1]
    assert data.censored_share == 0.0
